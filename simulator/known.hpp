// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memories that several threads share. Known: values that are worked out once and then stay where
// they are. Recent: values that may be worked out again, for those that are large.
//
// Searches look keys up by the million, most of them no longer in the processor's cache. So tables
// are flat and hold hashes: what is read of memory are a slot of the table and the entry itself.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace pleat {

template <class Key, class Value, class Hash>
class Known {
 public:
  // make() -> Value. Where several threads miss at once, each works the value out and the first
  // one's stays. `Lookup` may be a cheaper form of Key.
  template <class Lookup, class Make>
  Value& get(const Lookup& key, const Make& make) {
    const std::size_t hash = Hash{}(key);
    {
      const std::shared_lock lock(mutex_);
      const auto found = entries_.find(key, hash);
      if (found != entries_.end()) return (*found)->value;
    }
    std::unique_ptr<Entry> made(new Entry{Key(key), make()});  // the value is made in its place
    const std::unique_lock lock(mutex_);
    return (*entries_.insert(std::move(made)).first)->value;
  }
  template <class Do>
  void for_each(const Do& act) {
    const std::shared_lock lock(mutex_);
    for (const Owned& entry : entries_) act(entry->value);
  }
  // Call it while nobody uses a value.
  void clear() {
    const std::unique_lock lock(mutex_);
    entries_.clear();
  }

  [[nodiscard]] std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    const Key key;
    Value value;
  };
  using Owned = std::unique_ptr<Entry>;
  struct HashOfKey {
    std::size_t operator()(const Owned& entry) const { return Hash{}(entry->key); }
  };
  struct SameKey {
    using is_transparent = void;
    static const Key& key_of(const Owned& entry) { return entry->key; }
    template <class Lookup>
    static const Lookup& key_of(const Lookup& key) { return key; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const { return key_of(a) == key_of(b); }
  };
  static constexpr bool kHoldsHashes = true;

  mutable std::shared_mutex mutex_;
  tsl::robin_set<Owned, HashOfKey, SameKey, std::allocator<Owned>, kHoldsHashes> entries_;
};

template <class Key, class Value, class Hash>
class Recent {
 public:
  // Sum of sizes, a single value apart.
  explicit Recent(std::size_t most) : most_of_half_(most / 2) {}

  // make() -> std::shared_ptr<const Value>; size(value), in any unit. When they grow too many those
  // are forgotten that nobody asked for lately; who holds one keeps it.
  template <class Make, class Size>
  std::shared_ptr<const Value> get(const Key& key, const Make& make, const Size& size) {
    std::shared_ptr<const Value> value;
    {
      const std::shared_lock lock(mutex_);
      const auto found = newer_.find(key);
      if (found != newer_.end()) return found->second;
      const auto older = older_.find(key);
      if (older != older_.end()) value = older->second;
    }
    if (!value) value = make();
    const std::size_t own = size(*value);
    const std::unique_lock lock(mutex_);
    if (held_ + own > most_of_half_) {
      older_ = std::move(newer_);
      newer_.clear();
      held_ = 0;
    }
    const auto [entry, fresh] = newer_.try_emplace(key, std::move(value));
    if (fresh) held_ += own;
    return entry->second;
  }

  [[nodiscard]] std::size_t size() const {  // what is in both halves counts twice
    const std::shared_lock lock(mutex_);
    return newer_.size() + older_.size();
  }

 private:
  static constexpr bool kHoldsHashes = true;
  using Entry = std::pair<Key, std::shared_ptr<const Value>>;
  using Half = tsl::robin_map<Key, std::shared_ptr<const Value>, Hash, std::equal_to<>,
                              std::allocator<Entry>, kHoldsHashes>;

  mutable std::shared_mutex mutex_;
  Half newer_, older_;  // what is asked for again moves to the newer half
  std::size_t most_of_half_, held_ = 0;
};

}  // namespace pleat
