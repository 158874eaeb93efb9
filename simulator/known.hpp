// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memories that several threads share. Known: values that are worked out once and then stay where
// they are. Recent: values that may be worked out again, for those that are large.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace pleat {

template <class Key, class Value, class Hash, class Equal = std::equal_to<>>
class Known {
 public:
  // make() -> std::unique_ptr<Value>. Where several threads miss at once, each works the value out
  // and the first one's stays. `Lookup` may be a cheaper form of Key.
  template <class Lookup, class Make>
  Value& get(const Lookup& key, const Make& make) {
    {
      const std::shared_lock lock(mutex_);
      const auto found = values_.find(key);
      if (found != values_.end()) return *found->second;
    }
    std::unique_ptr<Value> made = make();
    const std::unique_lock lock(mutex_);
    return *values_.try_emplace(Key(key), std::move(made)).first->second;
  }
  // Call it while nobody uses a value.
  void clear() {
    const std::unique_lock lock(mutex_);
    values_.clear();
  }

  [[nodiscard]] std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return values_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<Value>, Hash, Equal> values_;
};

template <class Key, class Value, class Hash>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}  // sum of sizes, a single value apart

  // make() -> std::shared_ptr<const Value>; size(value), in any unit. When they grow too many all
  // are forgotten; who holds one keeps it.
  template <class Make, class Size>
  std::shared_ptr<const Value> get(const Key& key, const Make& make, const Size& size) {
    {
      const std::shared_lock lock(mutex_);
      const auto found = values_.find(key);
      if (found != values_.end()) return found->second;
    }
    std::shared_ptr<const Value> made = make();
    const std::size_t own = size(*made);
    const std::unique_lock lock(mutex_);
    if (held_ + own > most_) {
      values_.clear();
      held_ = 0;
    }
    const auto [entry, fresh] = values_.try_emplace(key, std::move(made));
    if (fresh) held_ += own;
    return entry->second;
  }

  [[nodiscard]] std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return values_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Value>, Hash> values_;
  std::size_t most_, held_ = 0;
};

}  // namespace pleat
