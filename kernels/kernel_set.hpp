// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The kernels that a device offers. CUDA-free: the CPU reference (kernels/cpu) and the CUDA set
// implement the same interface and pass the same conformance suite. What each kernel computes, and
// its signature, stands in kernel_functions.inc. Contract: inputs and outputs do not alias unless
// the function says so; kernels allocate nothing; calls are enqueued on the set's stream (the CPU
// runs them at once); results are deterministic. Types: activations, weights and their gradients
// are fp32 or bf16, each operand by itself; a kernel computes and sums in fp32 and rounds a bf16
// result once, to nearest even. Statistics (rstd, lse, stats), router logits and probabilities,
// losses and the loads of experts are fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/dtype.hpp"
#include "core/elementwise.hpp"
#include "core/program/losses.hpp"
#include "core/spec/model.hpp"
#include "kernels/quantized.hpp"

namespace pleat {

// A row-major matrix or vector in device memory; columns are contiguous.
struct View {
  void* data = nullptr;
  DType dtype = DType::fp32;
  std::int64_t rows = 0, cols = 0;
  BlockScales* scales = nullptr;  // of fp8, mxfp8 and nvfp4, whose data are codes
  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
  [[nodiscard]] std::byte* at(std::int64_t element) const {
    return static_cast<std::byte*>(data) + bytes_of(dtype, element);
  }
  [[nodiscard]] float* f32() const { return static_cast<float*>(data); }
  [[nodiscard]] std::int32_t* i32() const { return static_cast<std::int32_t*>(data); }
};

struct AttentionShape {
  std::int64_t batch = 1, seq = 0, heads = 0, kv_groups = 0, head_dim = 0;
  double scale = 1;
  std::int64_t v_dim = 0;  // columns of a value; 0: head_dim
  [[nodiscard]] std::int64_t value_dim() const { return v_dim > 0 ? v_dim : head_dim; }
  [[nodiscard]] std::int64_t columns() const {  // of packed qkv
    return (heads + kv_groups) * head_dim + kv_groups * value_dim();
  }
};
struct MlaShape {
  std::int64_t batch = 1, seq = 0, heads = 0, nope = 0, rope = 0, v = 0, kv_lora = 0;
  double scale = 1;
};
struct RopeShape {  // rotates columns [offset, offset+dim) of each of `heads` blocks of `stride`
  std::int64_t seq = 0, heads = 0, stride = 0, first = 0, offset = 0, dim = 0;
  double theta = 10000;
  RopeScaling scaling = {};
  bool interleaved = false;  // pairs are neighbouring columns
  const std::int32_t* positions = nullptr;  // of every row; none: row r is position r % seq
};
// Columns of x by head: those of head h are [first + (h / share) * stride, + width). No width:
// none.
struct HeadColumns {
  View x;
  std::int64_t first = 0, stride = 0, width = 0, share = 1;
};
// Attention of `batch` equal runs of query rows to as many runs of key rows, pieces of sequences.
// A query's key has two parts (MLA: without and with position), or one. visible[r] = [first, last):
// the rows, in its sequence's run of keys, that query r sees; [0, 0) is none.
struct AttentionPiece {
  std::int64_t batch = 1, heads = 0;
  double scale = 1;
  HeadColumns q[2], k[2], v;
  const std::int32_t (*visible)[2] = nullptr;
  // fp8, mxfp8: queries, keys, values and the gradient of o are rounded to it before products read
  // them (kernels/cpu/narrow_attention.hpp). A set without quantisation is not asked.
  DType math = DType::fp32;
};
struct AttentionPieceGradient {
  HeadColumns dq[2], dk[2], dv;
};
// Column blocks: to[:, to_first + i * to_stride + (0 … width)] = the same of `from`, i < blocks.
struct ColumnBlocks {
  std::int64_t blocks = 1, width = 0, from_first = 0, from_stride = 0, to_first = 0, to_stride = 0;
  bool add = false;  // to += from, blocks ascending
};
struct RouterShape {
  std::int64_t experts = 0, top_k = 0, groups = 1, top_groups = 1;
  RouterScore score = RouterScore::softmax;
  bool normalize = true;
  double scaling = 1;
};
// Of every `every` rows all but the first part are those of `depths` prediction depths: that of
// depth d is scaled by `scale` * (seq - 1) / (seq - d), and their losses are loss[1]. 0: none is.
// The rows that are given begin with number `first` of all.
struct DepthRows {
  std::int64_t every = 0;
  double scale = 0;
  std::int64_t depths = 1, seq = 0, first = 0;
  [[nodiscard]] std::int64_t part_of(std::int64_t row) const {  // 0: the model's own
    return every > 0 ? (first + row) % every / (every / (1 + depths)) : 0;
  }
  [[nodiscard]] double scale_of(std::int64_t depth) const {
    if (depth == 1 || depth >= seq) return scale;
    return scale * static_cast<double>(seq - 1) / static_cast<double>(seq - depth);
  }
};
// Rows [first, first + rows) of the vocabulary on this rank; tokens from `size` on are padding.
struct VocabShard {
  std::int64_t first = 0, size = 0;
};
// Local experts [first_expert, first_expert + local), sources of `peers` ranks each.
struct ChunkShape {
  std::int64_t first_expert = 0, local = 0, peers = 1;
};
// Where the rows of a matrix lie in the microbatch: `first` in its order, `rows` of each sequence.
struct RouterRows {
  std::int64_t first = 0, rows = 1;
};
struct AdamW {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0;
  std::int64_t step = 1;  // 1-based
};

inline constexpr std::int64_t kMomentBlockElements = 128;
// A moment in its own type: element i is scales[i / kMomentBlockElements] * values[i] in fp16 and
// fp8 (E4M3), values[i] in fp32 and bf16. Scales are powers of two; written, the largest element of
// a block lies in the upper half of what its type holds.
struct Moment {
  View values;
  float* scales = nullptr;
};
struct ElementSpan {
  std::int64_t first = 0, elements = 0;
};
struct Sgd {
  double lr = 1e-3, momentum = 0.9, weight_decay = 0;
};

// A matrix' codes, with codes.scales, and how quantize makes them.
struct QuantizedCopy {
  View codes;
  Quantization how;
};

class KernelSet {
 public:
  virtual ~KernelSet() = default;

#define PLEAT_KERNEL(result, name, parameters) virtual result name parameters = 0;
#define PLEAT_MIXED_KERNEL(result, name, parameters) virtual result name parameters = 0;
#include "kernels/kernel_functions.inc"

  // Quantisation, which a set need not have: it is not asked then.
  // y = codes of x, with y.scales. counts: rows of each group, quantised by itself; no data: all.
  // Products take quantised operands in place of others: of codes times scales, summed in fp32.
  virtual void quantize(View x, View counts, View y, const Quantization&);
  // quantize for each copy, to the bit; a set may read x once for all.
  virtual void quantize_copies(View x, View counts, std::span<const QuantizedCopy>);
  // x + residual -> sum where residual has data (sum may be x), rms_norm of that (or of x) -> y,
  // and y's copies: the bits of three calls. !keep: y is a shape and a type, nothing is written
  // there and it may have no data.
  virtual void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep,
                                 View rstd, double eps, std::span<const QuantizedCopy>);
  // swiglu -> y, and y's copies, in the same way.
  virtual void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                               std::span<const QuantizedCopy>);
  // amax[g] = the largest of column g of history[length, groups], none negative:
  // Quantization::past_amax.
  virtual void largest_of_history(View history, View amax);
  // For what moves scales between ranks: from the device's memory to the vectors of y.scales, which
  // waits, and from the vectors to the device's memory. Nothing where the vectors are what kernels
  // use.
  virtual void read_scales(View y);
  virtual void write_scales(View y);
};

[[nodiscard]] std::unique_ptr<KernelSet> cpu_kernels();

}  // namespace pleat
