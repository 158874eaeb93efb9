// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges that take tokens as they are (DeepEP, HybridEP): copies are made in scratch for the
// collective of the all-to-all dispatcher, and added up in scratch on the way back. The result is
// that dispatcher's, the links carry more than those libraries send.
#include <fmt/format.h>

#include <numeric>

#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"

namespace pleat {
void Executor::exchange_tokens(const Call& c, bool back) {
  const OpAttributes& a = c.op.attr;
  const View choice = c.in[2];
  const std::int64_t rank =
      std::int64_t{context_.expert().ep} * program_.plan.expert.etp + context_.expert().etp;
  const View counts = elements_of(c.in[1], rank * a.experts, a.experts);
  const Counts here = counts_on_host(c, c.op.in[1], c.in[1]).subspan(
      static_cast<std::size_t>(rank * a.experts), static_cast<std::size_t>(a.experts));
  const std::int64_t copies = std::accumulate(here.begin(), here.end(), std::int64_t{0});
  const View received = back ? c.in[0] : c.out[0], tokens = back ? c.out[0] : c.in[0];
  const LayerProgram& layer = *c.site->program;
  const bool probs = layer.tensor(back ? c.op.in[0] : c.op.out[0]).shape.size() == 1;
  const std::int64_t columns = probs ? 1 : tokens.cols;
  const Aside rows = aside(tokens.dtype, copies, columns);
  const Aside map = aside(DType::i32, 1, choice.elements());
  const Aside given = aside(DType::fp32, 1, choice.elements());
  const Aside placed = aside(DType::fp32, copies, 1);
  kernels_.zero(given.view());
  const bool sends = !back;
  const View none{nullptr, tokens.dtype, choice.elements() / a.top_k, 0};
  kernels_.permute(sends && !probs ? tokens : none, sends && probs ? tokens : given.view(), choice,
                   counts, 0,
                   sends && !probs ? rows.view() : View{nullptr, tokens.dtype, copies, 0},
                   placed.view(), map.view());
  if (sends)
    return exchange_rows_of(c, probs ? placed.view() : rows.view(), received, columns, false);
  exchange_rows_of(c, received, rows.view(), columns, true);
  if (probs) {
    const View nothing{nullptr, DType::fp32, copies, 0},
        no_tokens{nullptr, DType::fp32, none.rows, 0};
    return kernels_.permute_bwd(nothing, rows.view(), map.view(), no_tokens, tokens, true);
  }
  if (c.op.module == Module::combine) return kernels_.unpermute(rows.view(), map.view(), tokens);
  kernels_.permute_bwd(rows.view(), placed.view(), map.view(), tokens, given.view(), a.accumulate);
}

}  // namespace pleat
