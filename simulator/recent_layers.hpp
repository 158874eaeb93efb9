// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layers that were priced not long ago keep their programs: what asks for more prices of the same ones
// (a dearer bound, a pair, an estimate) need not compile them again.
#pragma once

#include <algorithm>
#include <deque>
#include <mutex>

#include "simulator/layer_library.hpp"

namespace pleat {

class RecentLayers {
 public:
  explicit RecentLayers(std::size_t most) : most_(most) {}  // memos of layer groups

  // Each memo of the library lets go of its programs when so many others have been used since.
  void used(LayerLibrary& library) {
    const std::lock_guard lock(mutex_);
    for (LayerMemo* memo : library.memos()) {
      std::erase(memos_, memo);
      memos_.push_back(memo);
    }
    for (; memos_.size() > most_; memos_.pop_front()) memos_.front()->forget(false);
  }

 private:
  std::size_t most_;
  std::mutex mutex_;  // of what follows
  std::deque<LayerMemo*> memos_;
};

}  // namespace pleat
