// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// F forward, B input gradients, W weight gradients, stage r of p, m microbatches.
// - ZB-H1 (arXiv:2401.10241): 1F1B's warm-up and turns; W runs r microbatches behind B, so that
//   every stage keeps p microbatches alive. Bubble (p - 1)(F + B - W).
// - ZB-V (arXiv:2405.15362): two chunks in a V. No gaps on any stage where F = B = W, p
//   microbatches alive.
// - DualPipe (arXiv:2412.19437, deepseek-ai/DualPipe): the stages of either half, seen from their
//   end, run two streams of microbatches against each other; DualPipeV cuts that in half along the
//   middle, which leaves a V. Bubble (p/2 - 1)(FB + B - 3W) with FB an overlapped pair and B whole.
#include "core/program/split_orders.hpp"

#include <algorithm>
#include <array>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Writes slots down; microbatches of a chunk count up by themselves.
class OrderWriter {
 public:
  explicit OrderWriter(bool pairs) : pairs_(pairs) {}

  void forward(int chunk) { put(Pass::forward, SlotPart::whole, chunk, next_[0]); }
  void backward(int chunk) { put(Pass::backward, SlotPart::whole, chunk, next_[1]); }
  // Input gradients only; the weight gradients wait.
  void input(int chunk) {
    waiting_.push_back({chunk, next_[1][at(chunk)]});
    put(Pass::backward, SlotPart::input_gradients, chunk, next_[1]);
  }
  // The weight gradients that have waited longest, of any chunk or of one; false: none wait.
  bool weight() { return weight_of(waiting_.begin()); }
  bool weight(int chunk) {
    return weight_of(std::ranges::find(waiting_, chunk, &Waiting::chunk));
  }
  void pair(int forward_chunk, int backward_chunk) {
    forward(forward_chunk);
    order_.back().with_next = pairs_;
    backward(backward_chunk);
  }
  [[nodiscard]] int forwards(int chunk) const { return next_[0][at(chunk)]; }
  std::vector<Slot> finish() { return std::move(order_); }

 private:
  struct Waiting {
    int chunk = 0, microbatch = 0;
  };
  static std::size_t at(int chunk) { return static_cast<std::size_t>(chunk); }

  void put(Pass pass, SlotPart part, int chunk, std::array<int, 2>& next) {
    order_.push_back({pass, MicroBatch{next[at(chunk)]++}, ChunkId{chunk}, false, part});
  }

  bool weight_of(std::vector<Waiting>::iterator found) {
    if (found == waiting_.end()) return false;
    order_.push_back({Pass::backward, MicroBatch{found->microbatch}, ChunkId{found->chunk}, false,
                      SlotPart::weight_gradients});
    waiting_.erase(found);
    return true;
  }

  bool pairs_;
  std::array<int, 2> next_[2] = {};  // [pass][chunk]
  std::vector<Waiting> waiting_;
  std::vector<Slot> order_;
};

std::vector<Slot> zb_h1(const Schedule& s, int r) {
  OrderWriter out(false);
  const int warmup = std::min(s.pp - r - 1, s.microbatches);
  for (int k = 0; k < warmup; ++k) out.forward(0);
  for (int k = 0; k < s.microbatches; ++k) {
    if (k + warmup < s.microbatches) out.forward(0);
    out.input(0);
    if (k >= r) out.weight();
  }
  while (out.weight()) {
  }
  return out.finish();
}

// Made for at least 2p - 1 microbatches; with fewer the slots of those that are not there drop out.
std::vector<Slot> zb_v(const Schedule& s, int r) {
  OrderWriter out(false);
  const int p = s.pp, m = std::max(s.microbatches, 2 * p - 1);
  const auto back = [&out](int chunk) {
    out.input(chunk);
    out.weight();
  };
  for (int k = 0; k < 2 * (p - r) - 1; ++k) out.forward(0);
  for (int k = 0; k < r; ++k) {
    out.forward(1);
    out.forward(0);
  }
  for (int k = 0; k < p - r; ++k) {
    out.forward(1);
    back(1);
  }
  while (out.forwards(1) < m) {
    if (out.forwards(0) < m) out.forward(0);
    back(0);
    out.forward(1);
    back(1);
  }
  for (int k = 0; k < r; ++k) {  // what is left goes down the V without pause
    out.input(0);
    out.input(1);
  }
  for (int k = 0; k < p - r; ++k) {
    out.input(0);
    out.weight(0);
  }
  while (out.weight(1)) {
  }
  while (out.weight(0)) {
  }
  std::vector<Slot> order = out.finish();
  std::erase_if(order, [&](const Slot& slot) { return slot.microbatch.value >= s.microbatches; });
  return order;
}

// Stage `i` from its end of `half` stages, `n` microbatches on each of two chunks: chunk 0 carries
// those that start at this end, chunk 1 those that come from the other one.
std::vector<Slot> dual(int half, int i, int n, bool pairs) {
  OrderWriter out(pairs);
  const int rest = half - i - 1;
  for (int k = 0; k < 2 * rest; ++k) out.forward(0);
  for (int k = 0; k <= i; ++k) {
    out.forward(0);
    out.forward(1);
  }
  for (int k = 0; k < rest; ++k) {
    out.input(1);
    out.weight();
    out.forward(1);
  }
  for (int k = 0; k < n - 2 * half + i + 1; ++k) {
    if (k == 0 && rest == 0) {  // in the middle one need not wait for the other's input
      out.forward(0);
      out.backward(1);
    } else {
      out.pair(0, 1);
    }
    out.pair(1, 0);
  }
  for (int k = 0; k < rest; ++k) {
    out.backward(1);
    out.pair(1, 0);
  }
  // The second half of the last backwards leaves its weight gradients for the end.
  const int defer_from = i + 1;  // of 2 (i + 1) backwards
  for (int k = 0; k < 2 * (i + 1); ++k) {
    const int chunk = 1 - k % 2;
    if (k >= defer_from) {
      out.input(chunk);
    } else {
      out.backward(chunk);
    }
  }
  for (int k = 0; k < rest; ++k) {
    out.weight();
    out.input(0);
  }
  while (out.weight()) {
  }
  return out.finish();
}

std::vector<Slot> dualpipe(const Schedule& s, int r) {
  PLEAT_ASSERT(s.pp % 2 == 0 && s.microbatches % 2 == 0 && s.microbatches >= 2 * s.pp);
  const int n = s.microbatches / 2;
  const bool second_half = r >= s.pp / 2;
  std::vector<Slot> order = dual(s.pp / 2, second_half ? s.pp - 1 - r : r, n, s.paired);
  for (Slot& slot : order) {  // seen from the other end the chunks change places
    if (second_half) slot.chunk = ChunkId{1 - slot.chunk.value};
    slot.microbatch = MicroBatch{slot.microbatch.value + slot.chunk.value * n};
  }
  return order;
}

}  // namespace

std::vector<Slot> split_order(const Schedule& s, Stage stage) {
  switch (s.kind) {
    case PipelineSchedule::one_f_one_b: break;
    case PipelineSchedule::zb_h1: return zb_h1(s, stage.value);
    case PipelineSchedule::zb_v: return zb_v(s, stage.value);
    case PipelineSchedule::dualpipe: return dualpipe(s, stage.value);
    case PipelineSchedule::dualpipe_v:
      PLEAT_ASSERT(s.microbatches >= 2 * s.pp);
      return dual(s.pp, stage.value, s.microbatches, s.paired);
  }
  PLEAT_ASSERT(!"1F1B splits no backward pass");
  return {};
}

}  // namespace pleat
