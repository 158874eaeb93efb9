// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Router, permutation, tables and the loss.
#include <fmt/core.h>

#include "tests/benchmarks/gpu/bench.hpp"

namespace pleat::bench {
namespace {

void router(Bench& b, std::int64_t tokens, const RouterShape& s) {
  if (!b.wanted("router")) return;
  const View logits = b.random(DType::fp32, tokens, s.experts);
  const View probs = b.random(DType::fp32, tokens, s.top_k);
  const View dprobs = b.random(DType::fp32, tokens, s.top_k);
  const View dlogits = b.random(DType::fp32, tokens, s.experts);
  const View experts =
      b.i32(std::vector<std::int32_t>(static_cast<std::size_t>(tokens * s.top_k)), tokens);
  const std::string shape = fmt::format(
      "{} tokens, E {}, k {}, groups {}/{}, {}", tokens, s.experts, s.top_k, s.top_groups, s.groups,
      s.score == RouterScore::sigmoid ? "sigmoid" : "softmax");
  const auto t = static_cast<double>(tokens), e = static_cast<double>(s.experts);
  const auto k = static_cast<double>(s.top_k);
  b.memory_bound("router_topk", shape, t * (4 * e + 8 * k), "4B*logits+8B*k",
                 [&] { b.kernels().router_topk(logits, {}, probs, experts, s); });
  b.memory_bound("router_topk_bwd", shape, t * (4 * e + 16 * k), "4B*dlogits+16B*k", [&] {
    b.kernels().router_topk_bwd(dprobs, logits, probs, experts, dlogits, s);
  });
  const View stats = b.random(DType::fp32, 4, 2 * s.experts + 1);
  b.memory_bound("router_stats", shape, t * (4 * e + 4 * k), "4B*logits+4B*k", [&] {
    b.kernels().router_stats(logits, experts, stats, s, {.rows = (tokens + 3) / 4});
  });
}

void permutation(Bench& b, std::int64_t tokens, std::int64_t h, std::int64_t experts,
                 std::int64_t k) {
  if (!b.wanted("permute")) return;
  std::vector<std::int32_t> chosen, counts(static_cast<std::size_t>(experts));
  std::mt19937 generator(7);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto first = static_cast<std::int64_t>(generator()) % experts;
    for (std::int64_t j = 0; j < k; ++j) {  // k different ones
      const auto e = static_cast<std::int32_t>((first + j * (experts / k)) % experts);
      chosen.push_back(e);
      ++counts[static_cast<std::size_t>(e)];
    }
  }
  const std::int64_t rows = tokens * k;
  const View x = b.random(DType::bf16, tokens, h), px = b.random(DType::bf16, rows, h);
  const View probs = b.random(DType::fp32, tokens, k), pp = b.random(DType::fp32, 1, rows);
  const View dprobs = b.random(DType::fp32, tokens, k);
  const View picked = b.i32(chosen, tokens), sizes = b.i32(counts);
  const View map = b.i32(std::vector<std::int32_t>(static_cast<std::size_t>(rows)));
  const std::string shape = fmt::format("{} tokens x {} bf16, E {}, k {}", tokens, h, experts, k);
  const double bytes = 2.0 * static_cast<double>(tokens * h) * static_cast<double>(1 + k);
  b.memory_bound("permute", shape, bytes, "2B*h*(T+kT), map and probabilities not counted",
                 [&] { b.kernels().permute(x, probs, picked, sizes, 0, px, pp, map); });
  b.memory_bound("permute_bwd", shape, bytes, "2B*h*(kT+T)",
                 [&] { b.kernels().permute_bwd(px, pp, map, x, dprobs, false); });
  b.memory_bound("unpermute", shape, bytes, "2B*h*(kT+T)",
                 [&] { b.kernels().unpermute(px, map, x); });
  b.memory_bound("unpermute_bwd", shape, bytes, "2B*h*(T+kT)",
                 [&] { b.kernels().unpermute_bwd(x, map, px); });
}

void loss(Bench& b, std::int64_t rows, std::int64_t vocabulary) {
  if (!b.wanted("ce_")) return;
  const View logits = b.random(DType::bf16, rows, vocabulary),
             stats = b.random(DType::fp32, rows, 3);
  const View labels = b.i32(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 5));
  const View total = b.random(DType::fp32, 1, 1);
  const std::string shape = fmt::format("{}x{} bf16", rows, vocabulary);
  const auto n = static_cast<double>(rows * vocabulary);
  b.memory_bound("ce_stats", shape, 2 * n, "2B*logits",
                 [&] { b.kernels().ce_stats(logits, labels, {0, vocabulary}, stats); });
  b.memory_bound("ce_loss", shape, 4 * n, "2B*(read+write of logits)", [&] {
    b.kernels().ce_loss(logits, labels, {0, vocabulary}, stats, 1e-3, {}, total);
  });
}

void table(Bench& b, std::int64_t tokens, std::int64_t vocabulary, std::int64_t h) {
  if (!b.wanted("embedding")) return;
  std::vector<std::int32_t> ids;
  std::mt19937 generator(3);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double unit =
        static_cast<double>(generator()) / 4294967296.0;  // low numbers are frequent
    ids.push_back(static_cast<std::int32_t>(unit * unit * unit * static_cast<double>(vocabulary)));
  }
  const View w = b.random(DType::bf16, vocabulary, h), x = b.random(DType::bf16, tokens, h);
  const View dw = b.random(DType::fp32, vocabulary, h), t = b.i32(ids);
  const std::string shape = fmt::format("{} tokens of {} x {} bf16", tokens, vocabulary, h);
  const auto n = static_cast<double>(tokens * h);
  b.memory_bound("embedding", shape, 4 * n, "2B*(row+x)",
                 [&] { b.kernels().embedding(t, w, 0, x); });
  b.memory_bound("embedding_bwd", shape, 10 * n, "2B*dx+8B*dw, as if no token came twice",
                 [&] { b.kernels().embedding_bwd(x, t, 0, dw); });
}

}  // namespace

void token_kernels(Bench& b) {
  for (const std::int64_t tokens : {4096, 32768, 262144}) {
    for (const RouterShape& s : {RouterShape{.experts = 256, .top_k = 8},
                                 RouterShape{.experts = 256,
                                 .top_k = 8,
                                 .groups = 8,
                                 .top_groups = 4,
                                 .score = RouterScore::sigmoid,
                                 .scaling = 2.5},
                                 RouterShape{.experts = 8, .top_k = 2}}) {
      b.attempt("router", fmt::format("{} tokens, E {}", tokens, s.experts),
                [&] { router(b, tokens, s); });
    }
  }
  struct Rows {
    std::int64_t tokens, h, experts, k;
  };
  for (const auto& [tokens, h, experts, k] :
       {Rows{32768, 4096, 8, 2}, Rows{32768, 2048, 128, 8}, Rows{32768, 4096, 128, 8},
        Rows{16384, 7168, 256, 8}}) {
    b.attempt(
        "permute", fmt::format("{} tokens, E {}", tokens, experts),
        [&, t = tokens, width = h, e = experts, top = k] { permutation(b, t, width, e, top); });
  }
  for (const std::int64_t vocabulary : {131072, 32000}) {
    b.attempt("loss", fmt::format("{}", vocabulary), [&] { loss(b, 8192, vocabulary); });
  }
  b.attempt("embedding", "", [&] { table(b, 32768, 131072, 4096); });
}

}  // namespace pleat::bench
