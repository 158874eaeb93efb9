// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// fp8: quantising, by itself and with norms and SwiGLU, and transposing codes, against the copy
// bandwidth. What is read twice counts twice: one scale a matrix, and squares, need all of a block
// before its first code, and a norm its whole row.
#include <fmt/core.h>

#include <vector>

#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/resources.hpp"
#include "tests/benchmarks/gpu/codes.hpp"

namespace pleat::bench {
namespace {

void quantise(Bench& b, std::int64_t rows, std::int64_t cols) {
  const struct {
    const char* name;
    Quantization q;
    int reads;  // of x
  } kinds[] = {{"tensor", kTensor, 2},   {"1x128", kRows, 1},     {"128x1", kColumns, 1},
               {"128x128", kSquares, 2}, {"1x32", kMicroRows, 1}, {"32x1", kMicroColumns, 1}};
  const auto n = static_cast<double>(rows * cols);
  for (const auto& kind : kinds) {
    b.attempt("quantize", kind.name, [&] {
      Codes codes(b);
      const View x = b.random(DType::bf16, rows, cols), y = codes.of(rows, cols, kind.q);
      const bool twice = kind.reads == 2;
      b.memory_bound(fmt::format("quantize {}", kind.name), fmt::format("{}x{} bf16", rows, cols),
                     (2 * kind.reads + 1) * n, twice ? "2B*2x+1B*y" : "2B*x+1B*y",
                     [&] { b.kernels().quantize(x, {}, y, kind.q); }, twice ? 3 * n : 0);
    });
  }
}

// Both copies that a product's operand needs, by themselves and with what makes the numbers. Blocks
// within rows and within columns are made in one pass, one scale a matrix in two.
void fused(Bench& b, std::int64_t rows, std::int64_t cols) {
  struct Kind {
    const char* name;
    Quantization row, column;
    int passes;  // over what is quantised
  };
  for (const Kind& kind : {Kind{"1x128 and 128x1", kRows, kColumns, 1},
                           Kind{"1x32 and 32x1", kMicroRows, kMicroColumns, 1},
                           Kind{"tensor twice", kTensor, kTensor, 2}}) {
    b.attempt("quantize both", kind.name, [&] {
      Codes codes(b);
      const View x = b.random(DType::bf16, rows, cols), more = b.random(DType::bf16, rows, cols);
      const View y = b.random(DType::bf16, rows, cols), u = b.random(DType::bf16, rows, 2 * cols);
      const View sum = b.random(DType::bf16, rows, cols), w = b.random(DType::bf16, 1, cols);
      const View rstd = b.random(DType::fp32, 1, rows), p = b.random(DType::fp32, 1, rows);
      const QuantizedCopy copies[] = {{codes.of(rows, cols, kind.row), kind.row},
                                      {codes.of(rows, cols, kind.column), kind.column}};
      const std::string shape = fmt::format("{}x{} bf16, {}", rows, cols, kind.name);
      const auto n = static_cast<double>(rows * cols);
      const double read = 2 * n * kind.passes, written = 2 * n;
      b.memory_bound("quantize both", shape, read + written,
                     fmt::format("2B*{}x+1B*2y", kind.passes),
                     [&] { b.kernels().quantize_copies(x, {}, copies); }, 4 * n);
      b.memory_bound("rms_norm+quantize", shape, 2 * n + read + written,
                     fmt::format("2B*(1+{})x+1B*2y", kind.passes), [&] {
                       b.kernels().rms_norm_quantize(x, {}, {}, w, y, false, rstd, 1e-5, copies);
                     }, 4 * n);
      b.memory_bound("rms_norm+residual+quantize", shape, 6 * n + read + written,
                     fmt::format("2B*(x+residual+sum+{}sum)+1B*2y", kind.passes), [&] {
                       b.kernels().rms_norm_quantize(x, more, sum, w, y, false, rstd, 1e-5, copies);
                     }, 8 * n);
      b.memory_bound("swiglu+quantize", shape, 2 * read + written,
                     fmt::format("2B*{}u+1B*2y, u twice y", kind.passes),
                     [&] { b.kernels().swiglu_quantize(u, p, {}, y, false, copies); }, 6 * n);
    });
  }
}

// One scale a group of equal size, to one copy and to both, as operands of experts' products are
// made; what is read twice counts twice.
void grouped(Bench& b, std::int64_t rows, std::int64_t cols, std::int64_t groups,
             const Quantization& q) {
  const char* const name = q.format == SmallFloat::e5m2 ? "E5M2" : "E4M3";
  const std::string shape = fmt::format("{}x{} bf16, {} groups, {}", rows, cols, groups, name);
  b.attempt("quantize by group", shape, [&] {
    Codes codes(b);
    const std::vector<std::int32_t> sizes(static_cast<std::size_t>(groups),
                                          static_cast<std::int32_t>(rows / groups));
    const View x = b.random(DType::bf16, rows, cols), counts = b.i32(sizes);
    const QuantizedCopy copies[] = {{codes.of(rows, cols, q, counts), q},
                                    {codes.of(rows, cols, q, counts), q}};
    const auto n = static_cast<double>(rows * cols);
    b.memory_bound("quantize by group", shape, 5 * n, "2B*2x+1B*y",
                   [&] { b.kernels().quantize(x, counts, copies[0].codes, q); }, 3 * n);
    b.memory_bound("quantize both by group", shape, 6 * n, "2B*2x+1B*2y",
                   [&] { b.kernels().quantize_copies(x, counts, copies); }, 4 * n);
  });
}

// Rows of tokens as they travel to experts in fp8, and what `parts` ranks sent added up.
void travelling(Bench& b, std::int64_t rows, std::int64_t cols, std::int64_t parts) {
  const std::string shape = fmt::format("{}x{} bf16, {} parts", rows, cols, parts);
  b.attempt("pack rows", shape, [&] {
    const View x = b.random(DType::bf16, rows * parts, cols);
    const View sums = b.random(DType::bf16, rows, cols);
    const View room = b.random(DType::bf16, rows * parts, cols);  // larger than the packed rows
    auto* const packed = static_cast<std::byte*>(room.data);
    const auto n = static_cast<double>(rows * cols), scales = n / 32;
    b.memory_bound("pack rows", shape, static_cast<double>(parts) * (3 * n + scales), "2B*x+1B*y",
                   [&] { b.kernels().pack_rows(x, packed); });
    b.memory_bound("unpack rows", shape, static_cast<double>(parts) * (n + scales) + 2 * n,
                   "1B*parts*y+2B*x",
                   [&] { b.kernels().unpack_rows(packed, parts, false, sums); });
  });
}

// What a product does with codes whose K is not contiguous.
void transposed(Bench& b, std::int64_t rows, std::int64_t cols) {
  cuda::Resources resources(b.device(), 0);
  Codes codes(b);
  const View x = codes.of(rows, cols, kTensor);
  const auto kind = cuda::narrow_kind(x, false, cuda::capability(resources));
  const std::string shape = fmt::format("{}x{}", rows, cols);
  if (kind.scales == cuda::NarrowScales::none) {
    return b.missing("transpose codes", shape, "this GPU has no products of codes");
  }
  const std::size_t bytes = cuda::narrow_bytes(x, false, kind);
  b.memory_bound("transpose codes", shape, 2 * static_cast<double>(rows * cols), "1B*(x+y)", [&] {
    cuda::Scratch copies(resources.copies(bytes), bytes);
    static_cast<void>(cuda::narrow_operand(resources, x, false, kind, copies));
  });
}

}  // namespace

void quantizing(Bench& b) {
  quantise(b, 65536, 4096);
  quantise(b, 32768, 7168);
  fused(b, 65536, 4096);
  fused(b, 32768, 7168);
  grouped(b, 16384, 28672, 8, kGradient);
  grouped(b, 16384, 4096, 8, kTensor);
  grouped(b, 131072, 2048, 128, kTensor);
  grouped(b, std::int64_t{8} * 28672, 4096, 8, kTensor);  // weights
  travelling(b, 65536, 4096, 1);
  travelling(b, 65536, 7168, 1);
  travelling(b, 8192, 4096, 8);
  b.attempt("transpose codes", "", [&] { transposed(b, 65536, 4096); });
  b.attempt("transpose codes", "", [&] { transposed(b, 65536, 14336); });
}

}  // namespace pleat::bench
