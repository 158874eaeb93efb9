// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Expert exchanges of tile-level kernels: rows are sorted by expert, or picked and summed, on the way,
// so that the program keeps nothing between exchange and product. Here the way is scratch: the
// collectives, sums and bits are those of the exchange with its kernels apart.
#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"

namespace pleat {

// In expert order where the experts are, in the order of the ranks that sent them on the way.
void Executor::exchange_sorted_rows(const Call& c, std::int64_t columns, bool back) {
  const std::int64_t local = c.op.attr.local_experts;
  const ChunkShape shape{context_.expert().ep * local, local, program_.plan.expert.etp};
  View sorted = back ? c.in[0] : c.out[0];
  const std::int64_t rows = columns == 0 ? 0 : sorted.elements() / columns;
  sorted.rows = rows;
  sorted.cols = columns;
  const Aside way = aside(sorted.dtype, rows, columns);
  if (back) {
    kernels_.unsort_chunks(sorted, c.in[1], shape, way.view());
    return exchange_rows_of(c, way.view(), c.out[0], columns, true);
  }
  exchange_rows_of(c, c.in[0], way.view(), columns, false);
  kernels_.sort_chunks(way.view(), c.in[1], shape, sorted);
}

// All ranks' tokens gathered and the local experts' picked, or what they computed added up by token
// and scattered.
void Executor::share_picked_rows(const Call& c, Communicator& comm) {
  const bool gather = family_of(c.op.kind) == OpKind::all_gather;
  const View choice = c.in[1], counts = c.in[2], picked = gather ? c.out[0] : c.in[0];
  const LayerProgram& layer = *c.site->program;
  const bool probs = layer.tensor(gather ? c.op.out[0] : c.op.in[0]).shape.size() == 1;
  const View mine = gather ? c.in[0] : c.out[0];
  const std::int64_t tokens = choice.rows * comm.size(), top_k = choice.cols;
  const std::int64_t rows = probs ? picked.elements() : picked.rows;
  const Aside choices = aside(DType::i32, tokens, top_k), map = aside(DType::i32, tokens, top_k);
  comm.all_gather(bytes(choice), bytes(choices.view()));
  const Aside all = aside(mine.dtype, tokens, mine.cols);
  const View from[] = {gather ? mine : all.view()}, to[] = {gather ? all.view() : mine};
  const Call of_all{c.op, c.site, from, to};
  if (gather) share_rows(of_all, comm);

  const View no_tokens{nullptr, mine.dtype, tokens, 0}, no_rows{nullptr, mine.dtype, rows, 0};
  const Aside no_probs = aside(DType::fp32, tokens, top_k), placed = aside(DType::fp32, rows, 1);
  kernels_.zero(no_probs.view());
  kernels_.permute(gather && !probs ? all.view() : no_tokens,
                   gather && probs ? all.view() : no_probs.view(), choices.view(), counts,
                   context_.expert().ep * counts.elements(), gather && !probs ? picked : no_rows,
                   gather && probs ? picked : placed.view(), map.view());
  if (gather) return;
  if (probs) {
    kernels_.permute_bwd({nullptr, DType::fp32, rows, 0}, picked, map.view(),
                         {nullptr, DType::fp32, tokens, 0}, all.view(), false);
  } else {
    kernels_.unpermute(picked, map.view(), all.view());
  }
  share_rows(of_all, comm);
}

}  // namespace pleat
