// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/token_exchange.hpp"

#include <cstdint>
#include <numeric>

#include "backend/execute/collectives.hpp"
#include "backend/execute/execution.hpp"
#include "backend/execute/expert_exchange.hpp"
#include "backend/execute/expert_rows.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// `back`: from the experts to the tokens. The operation moves rows, or probabilities. permute makes
// copies of both at once; what the operation does not move is empty (none), or zeros that nothing
// reads (given, placed).
void exchange_of_tokens(const Call& c, Execution& run, bool back) {
  const OpAttributes& a = c.op.attr;
  const View choice = c.in[2];
  const std::int64_t rank =
      std::int64_t{run.ranks.expert().ep} * run.program.plan.expert.etp + run.ranks.expert().etp;
  const View counts = elements_of(c.in[1], rank * a.experts, a.experts);
  const Counts here =
      run.rows.counts_on_host(c, c.op.in[1], c.in[1])
          .subspan(static_cast<std::size_t>(rank * a.experts), static_cast<std::size_t>(a.experts));
  const std::int64_t copies = std::accumulate(here.begin(), here.end(), std::int64_t{0});
  const View received = back ? c.in[0] : c.out[0], tokens = back ? c.out[0] : c.in[0];
  const bool probs = has_probabilities(c, back ? c.op.in[0] : c.op.out[0]);
  const std::int64_t columns = probs ? 1 : tokens.cols;
  const Scratch rows = run.scratch.take(tokens.dtype, copies, columns);
  const Scratch map = run.scratch.take(DType::i32, 1, choice.elements());
  const Scratch given = run.scratch.take(DType::fp32, 1, choice.elements());
  const Scratch placed = run.scratch.take(DType::fp32, copies, 1);
  run.kernels.zero(given.view());
  const bool sends = !back;
  const View none{nullptr, tokens.dtype, choice.elements() / a.top_k, 0};
  run.kernels.permute(sends && !probs ? tokens : none, sends && probs ? tokens : given.view(),
                      choice, counts, 0,
                      sends && !probs ? rows.view() : View{nullptr, tokens.dtype, copies, 0},
                      placed.view(), map.view());
  if (sends)
    return send_expert_rows(c, run, probs ? placed.view() : rows.view(), received, columns, false);
  send_expert_rows(c, run, received, rows.view(), columns, true);
  if (probs) {
    const View nothing{nullptr, DType::fp32, copies, 0},
        no_tokens{nullptr, DType::fp32, none.rows, 0};
    return run.kernels.permute_bwd(nothing, rows.view(), map.view(), no_tokens, tokens, true);
  }
  if (c.op.module == Module::combine) return run.kernels.unpermute(rows.view(), map.view(), tokens);
  run.kernels.permute_bwd(rows.view(), placed.view(), map.view(), tokens, given.view(),
                          a.accumulate);
}

// All ranks' tokens gathered and the local experts' picked, or what they computed added up by token
// and scattered.
void share_picked_rows(const Call& c, Execution& run, bool gather) {
  Communicator& comm = run.ranks.comm(c.op.group);
  const View choice = c.in[1], counts = c.in[2], picked = gather ? c.out[0] : c.in[0];
  const bool probs = has_probabilities(c, gather ? c.op.out[0] : c.op.in[0]);
  const View mine = gather ? c.in[0] : c.out[0];
  const std::int64_t tokens = choice.rows * comm.size(), top_k = choice.cols;
  const std::int64_t rows = probs ? picked.elements() : picked.rows;
  const Scratch choices = run.scratch.take(DType::i32, tokens, top_k),
                map = run.scratch.take(DType::i32, tokens, top_k);
  comm.all_gather(bytes(choice), bytes(choices.view()));
  const Scratch all = run.scratch.take(mine.dtype, tokens, mine.cols);
  const View from[] = {gather ? mine : all.view()}, to[] = {gather ? all.view() : mine};
  const Call of_all{c.op, c.site, from, to};
  if (gather) all_gather(of_all, run);

  const View no_tokens{nullptr, mine.dtype, tokens, 0}, no_rows{nullptr, mine.dtype, rows, 0};
  const Scratch no_probs = run.scratch.take(DType::fp32, tokens, top_k),
                placed = run.scratch.take(DType::fp32, rows, 1);
  run.kernels.zero(no_probs.view());
  run.kernels.permute(
      gather && !probs ? all.view() : no_tokens, gather && probs ? all.view() : no_probs.view(),
      choices.view(), counts, run.ranks.expert().ep * counts.elements(),
      gather && !probs ? picked : no_rows, gather && probs ? picked : placed.view(), map.view());
  if (gather) return;
  if (probs) {
    run.kernels.permute_bwd({nullptr, DType::fp32, rows, 0}, picked, map.view(),
                            {nullptr, DType::fp32, tokens, 0}, all.view(), false);
  } else {
    run.kernels.unpermute(picked, map.view(), all.view());
  }
  reduce_scatter(of_all, run);
}

}  // namespace

void exchange_tokens(const Call& c, Execution& run) { exchange_of_tokens(c, run, false); }
void exchange_tokens_back(const Call& c, Execution& run) { exchange_of_tokens(c, run, true); }
void gather_picked_rows(const Call& c, Execution& run) { share_picked_rows(c, run, true); }
void reduce_picked_rows(const Call& c, Execution& run) { share_picked_rows(c, run, false); }

}  // namespace pleat::execute
