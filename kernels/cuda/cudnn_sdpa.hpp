// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One attention of cuDNN: its graph for a shape, built when the shape first comes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/resources.hpp"
#include "kernels/score_gradients.hpp"

namespace pleat::cuda {

// Rows of a head are `ld` elements apart, heads `step`; sequences seq * ld.
struct SdpaOperand {
  std::int64_t ld = 0, step = 0;
  auto operator<=>(const SdpaOperand&) const = default;
};

struct SdpaShape {
  std::int64_t batch = 0, seq = 0, heads = 0, groups = 0, width = 0, value_width = 0;
  SdpaOperand q, k, v, o;
  SdpaOperand dq, dk, dv;  // rows of no elements: they lie like their values
  float scale = 1;
  bool backward = false;
  std::int64_t window = 0;  // keys a query sees at most; 0: all before it
  // Sequences of their own lengths, at most `seq`, that lie one after the other; `batch` of them.
  bool ragged = false;
  // q, k, v and o are codes of E4M3 with a scale each, probabilities are rounded to them between
  // the products. Forward alone.
  bool codes = false;
  std::int64_t keys = 0;   // of a sequence; 0: as many as queries
  bool unmasked = false;   // every query sees all keys
  [[nodiscard]] std::int64_t key_count() const { return keys > 0 ? keys : seq; }
  auto operator<=>(const SdpaShape&) const = default;
};

// What codes are multiplied with, and what makes codes of probabilities and of o; fp32 in device
// memory, 16 bytes apart. The last two are written: the largest of both.
enum class CodeFactor : std::int64_t {
  q, k, v, probability, to_probability, to_o, largest_probability, largest_o, count
};
inline constexpr std::int64_t kFactorStep = 4;  // floats

// "backward in bf16, 2 x 4096 tokens, 32/8 heads of 128/128, window 1024, packed documents"
[[nodiscard]] std::string description(const SdpaShape&);

// Heads that a pass takes at once: all but of a deterministic backward one
// (kernels/score_gradients.hpp), with kMostScoreBytes and kMostGroupBytes unless a test asks for
// less.
inline std::int64_t most_score_bytes = kMostScoreBytes, most_group_bytes = kMostGroupBytes;
[[nodiscard]] std::int64_t heads_at_once(const SdpaShape&, bool deterministic);

struct SdpaPointers {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* o = nullptr;      // backward: read
  float* stats = nullptr;  // [batch, heads, seq], backward: read
  const void* d_o = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  // Ragged: lengths [batch] i32, and elements at which sequences begin, [batch + 1] i32 each.
  void *lengths = nullptr, *q_first = nullptr, *k_first = nullptr, *v_first = nullptr,
       *o_first = nullptr;
  float* factors = nullptr;  // of codes: CodeFactor::count of them, kFactorStep apart
};

class SdpaLibrary {
 public:
  [[nodiscard]] static bool available();  // is libcudnn.so.9 on this machine?
  // Its version and the front end's, or why it is not available.
  [[nodiscard]] static std::string status();
  SdpaLibrary(const Resources&, bool deterministic);
  ~SdpaLibrary();
  SdpaLibrary(const SdpaLibrary&) = delete;
  SdpaLibrary& operator=(const SdpaLibrary&) = delete;

  [[nodiscard]] bool deterministic() const { return deterministic_; }
  // Bytes of workspace, or -1 where cuDNN has no kernel for the shape, which is said once with
  // cuDNN's words, or one that wants more than 16 GiB.
  [[nodiscard]] std::int64_t prepare(const SdpaShape&);
  // What the front end has against the graph of a shape on sm_90; empty: nothing. Needs no GPU.
  [[nodiscard]] static std::string objection(const SdpaShape&, bool deterministic = true);
  void run(const SdpaShape&, const SdpaPointers&, void* workspace);  // prepared before

  struct Graph;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  bool deterministic_;
  std::map<SdpaShape, std::unique_ptr<Graph>> graphs_;
};

}  // namespace pleat::cuda
