// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/gradient_sums.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// Rounds this member's terms, exchanges them, and returns the fp32 sums of this member's share.
// shares[r]: how many elements member r has.
Scratch sum_of_rounded(Execution& run, Communicator& comm, View all,
                       std::span<const std::int64_t> shares) {
  PLEAT_ASSERT(all.dtype == DType::fp32);
  const std::int64_t own = shares[static_cast<std::size_t>(comm.rank())], ranks = comm.size();
  const Scratch sent = run.scratch.take(DType::bf16, 1, all.elements()),
                received = run.scratch.take(DType::bf16, ranks, own);
  run.kernels.copy(all, sent.view());
  std::vector<std::int64_t> to;
  for (const std::int64_t n : shares) to.push_back(bytes_of(DType::bf16, n));
  const std::vector<std::int64_t> from(shares.size(), bytes_of(DType::bf16, own));
  comm.all_to_all(bytes(sent.view()), to, bytes(received.view()), from);
  Scratch terms = run.scratch.take(DType::fp32, ranks, own);
  run.kernels.copy(received.view(), terms.view());
  std::vector<View> parts;
  for (std::int64_t r = 0; r < ranks; ++r) parts.push_back(rows_of(terms.view(), r, 1));
  terms.kept = rows_of(terms.view(), 0, 1);
  if (own > 0) run.device.sum_parts(parts, terms.view());
  return terms;
}

}  // namespace

void sum_gradients(const Op& op, Execution& run, Communicator& comm, View all) {
  if (op.attr.wire >= 1) return pleat::all_reduce(comm, all);
  const std::int64_t n = all.elements(), ranks = comm.size();
  std::vector<std::int64_t> shares, sizes;
  for (std::int64_t r = 0; r < ranks; ++r) {
    shares.push_back((r + 1) * n / ranks - r * n / ranks);
    sizes.push_back(bytes_of(DType::bf16, shares.back()));
  }
  const Scratch sums = sum_of_rounded(run, comm, all, shares);
  const Scratch own = run.scratch.take(DType::bf16, 1, sums.view().elements()),
                whole = run.scratch.take(DType::bf16, 1, n);
  run.kernels.copy(sums.view(), own.view());
  comm.all_gather_ragged(bytes(own.view()), bytes(whole.view()), sizes);
  run.kernels.copy(whole.view(), all);
}

void sum_gradients(const Op& op, Execution& run, Communicator& comm, View all, View mine) {
  if (op.attr.wire >= 1) return pleat::reduce_scatter(comm, all, mine);
  const std::vector<std::int64_t> shares(static_cast<std::size_t>(comm.size()), mine.elements());
  run.kernels.copy(sum_of_rounded(run, comm, all, shares).view(), mine);
}

}  // namespace pleat::execute
