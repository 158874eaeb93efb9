// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A memory that several threads share: values that are worked out once and then stay where they are.
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

  [[nodiscard]] std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return values_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<Value>, Hash, Equal> values_;
};

}  // namespace pleat
