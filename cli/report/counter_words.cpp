// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/counter_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "console/tables.hpp"
#include "console/wrap.hpp"

namespace pleat::cli {
namespace {

struct CounterWords {
  std::string_view name, words;
};

// What the search does with plans that keep all rules.
constexpr std::array kOutcomes{
    CounterWords{"prediction-width-divisible",
                 "cut a prediction block's input into unequal parts over TP"},
    CounterWords{"time-bound", "cannot be faster than the slowest plan listed: a bound says so"},
    CounterWords{"slower", "were priced, and are slower than the plans listed"},
    CounterWords{"memory", "do not fit in a GPU's memory"},
    CounterWords{"host-memory", "keep more in host memory than a node has"},
    CounterWords{"no-effect", "differ from another plan only in options without effect here"},
    CounterWords{"variant", "are a listed plan with other options or another layout"},
    CounterWords{"over-saving", "give up speed for memory that is not short"},
    CounterWords{"alike", "take almost the time and memory of a listed plan of the same degrees"},
    CounterWords{"not-reached", "were not looked at before a limit"}};

// Rules that a plan must keep; what plans do that break them.
constexpr std::array kRules{
    CounterWords{"allgather-ranks", "gather tokens among more ranks than two"},
    CounterWords{"batch-divisible", "leave a GPU with part of a microbatch"},
    CounterWords{"capacity-dispatcher",
                 "pad experts to a capacity with a dispatcher that does not"},
    CounterWords{"capacity-padding", "pad experts to a capacity that is not set"},
    CounterWords{"context-divisible", "cut sequences into unequal parts over CP"},
    CounterWords{"cp-groups", "exchange heads in groups that do not divide CP"},
    CounterWords{"cp-heads", "exchange heads over more ranks than there are heads for"},
    CounterWords{"cp-selected-keys",
                 "gather no keys where attention selects among those of all ranks"},
    CounterWords{"cpu-optimizer-fp8-weights",
                 "step weights kept in fp8 on the CPU, which the runtime refuses"},
    CounterWords{"cpu-optimizer-sharding",
                 "step sharded weights on the CPU, which the runtime cannot"},
    CounterWords{"degrees-positive", "have a degree below 1"},
    CounterWords{"delay-wgrad-needs-overlap",
                 "delay weight gradients without an overlap of expert exchanges"},
    CounterWords{"delayed-scaling-recompute",
                 "recompute modules that delayed scaling excludes"},
    CounterWords{"delayed-wgrad-biases-in-graph",
                 "delay gradients of attention's biases inside a CUDA graph"},
    CounterWords{"delayed-wgrad-shards-in-graph",
                 "delay gradients of sharded weights inside a CUDA graph"},
    CounterWords{"delayed-wgrad-tp-overlap",
                 "delay gradients and overlap tensor-parallel exchanges, which excludes it"},
    CounterWords{"dense-mapping", "spread experts of a model that has none"},
    CounterWords{"dispatcher-sms", "give an exchange a number of SMs that has no measured rates"},
    CounterWords{"documents", "have documents without tokens"},
    CounterWords{"documents-attention", "store attention's scores, which packed documents exclude"},
    CounterWords{"dropped-tokens-in-graph", "drop tokens inside a CUDA graph"},
    CounterWords{"ep-overlap-dispatcher", "overlap expert exchanges with a dispatcher that cannot"},
    CounterWords{"ep-overlap-needs-ep", "overlap expert exchanges where there are none"},
    CounterWords{"ep-overlap-needs-interleaving",
                 "overlap expert exchanges in a pipeline that does not interleave"},
    CounterWords{"ep-overlap-precision", "overlap expert exchanges in fp32"},
    CounterWords{"ep-overlap-predictions",
                 "overlap expert exchanges with several prediction layers"},
    CounterWords{"ep-overlap-recompute",
                 "overlap expert exchanges and recompute whole layers of experts"},
    CounterWords{"executed-number-formats", "have number formats that the runtime does not run"},
    CounterWords{"expert-biases-etp", "cut experts that have biases over ETP"},
    CounterWords{"expert-ffn-divisible", "cut experts into unequal parts over ETP"},
    CounterWords{"expert-grid", "have expert degrees that do not multiply to the GPUs of a stage"},
    CounterWords{"expert-shards", "have groups of shards that ranks of experts do not divide into"},
    CounterWords{"experts-divisible", "leave ranks with unequal numbers of experts"},
    CounterWords{"experts-sequence-parallel",
                 "have experts beside TP without sequence parallelism"},
    CounterWords{"ffn-divisible", "cut the feed-forward layer into unequal parts over TP"},
    CounterWords{"fp8-exchange-needs-ep", "send rows to experts in fp8 where none are sent"},
    CounterWords{"fp8-exchange-precision", "send rows in fp8 to experts that compute in fp32"},
    CounterWords{"fsdp-group", "have groups of shards that ranks do not divide into"},
    CounterWords{"gather-beside-step",
                 "gather weights beside the optimizer's step where no chunk's step is apart"},
    CounterWords{"grad-reduce-type", "reduce gradients in a wider type than they are kept in"},
    CounterWords{"gradient-type", "keep gradients in fp16 in a run of another format"},
    CounterWords{"graph-of-unknown-sizes",
                 "capture the whole iteration, though only routing knows the sizes"},
    CounterWords{"heads-divisible", "cut attention heads into unequal parts over TP"},
    CounterWords{"interleaving-microbatches", "have too few microbatches for their interleaving"},
    CounterWords{"interleaving-needs-pipeline", "have virtual stages without a pipeline"},
    CounterWords{"layers-per-stage", "split the layers unevenly over the stages without a layout"},
    CounterWords{"layout", "have a layout that does not fit the model or the stages"},
    CounterWords{"loss-chunks", "cut the loss of a microbatch into unequal parts"},
    CounterWords{"loss-in-parts", "compute the loss in parts, which the runtime does not"},
    CounterWords{"microbatch-group", "have groups of microbatches that their order cannot run"},
    CounterWords{"mixer-heads", "split a recurrence over more ranks than its heads allow"},
    CounterWords{"muon-sharding", "shard what muon needs whole"},
    CounterWords{"offload-attention-output",
                 "offload attn_proj without core_attn, which saves nothing"},
    CounterWords{"offload-layers", "offload more layers than a chunk can"},
    CounterWords{"offload-layers-alone", "offload whole layers beside recompute or other offload"},
    CounterWords{"offload-layers-graph", "offload whole layers with partial CUDA graphs"},
    CounterWords{"offload-layers-pipeline", "offload whole layers in a pipeline"},
    CounterWords{"offload-present", "offload activations that the model does not have"},
    CounterWords{"offload-recompute", "offload parts of experts that they recompute"},
    CounterWords{"optimizer-cpu-kind", "step on the CPU with an optimizer that cannot"},
    CounterWords{"optimizer-cpu-overlap", "overlap a step on the CPU where there is none"},
    CounterWords{"optimizer-instances",
                 "have copies of the optimizer's state that ranks do not divide into"},
    CounterWords{"optimizer-offload-muon", "keep muon's state in host memory and step on the GPU"},
    CounterWords{"optimizer-offload-share", "keep an impossible share of the state in host memory"},
    CounterWords{"passes-of-a-step", "have more passes in a step than a plan may have"},
    CounterWords{"pipeline-depth", "have more stages than a plan may have"},
    CounterWords{"placement-groups",
                 "place experts by load where routing groups have no ranks of their own"},
    CounterWords{"placement-loads", "place experts by loads that are not known"},
    CounterWords{"placement-ranks", "place experts by load on one rank"},
    CounterWords{"placement-scales", "place experts by load with scales of earlier steps"},
    CounterWords{"recompute-graph", "recompute whole layers with partial CUDA graphs"},
    CounterWords{"recompute-layers", "recompute an impossible number of layers"},
    CounterWords{"recompute-modules", "recompute a module that cannot be"},
    CounterWords{"recompute-moe-graph",
                 "recompute whole layers of experts with partial CUDA graphs"},
    CounterWords{"recompute-once", "recompute something twice"},
    CounterWords{"recompute-present", "recompute what the model does not have"},
    CounterWords{"recompute-unit", "recompute in units that their layers do not make up"},
    CounterWords{"redundant-capacity", "keep copies of experts that are padded to a capacity"},
    CounterWords{"redundant-most", "keep more copies of experts than a rank lacks experts"},
    CounterWords{"redundant-optimizer", "keep copies of experts that lamb steps"},
    CounterWords{"redundant-placement", "keep copies of experts that are in order"},
    CounterWords{"redundant-sharding", "keep copies of experts sharded layer by layer"},
    CounterWords{"remainder-weights",
                 "keep 16-bit remainders beside weights that they do not complete"},
    CounterWords{"schedule-chunks", "have an order of the pipeline that needs another VPP"},
    CounterWords{"schedule-ep-overlap", "overlap expert exchanges in an order that cannot"},
    CounterWords{"schedule-group", "group microbatches in an order that has no groups"},
    CounterWords{"schedule-microbatches", "have too few microbatches for their order"},
    CounterWords{"schedule-needs-pipeline", "have an order of the pipeline without a pipeline"},
    CounterWords{"schedule-stages", "have an order that needs an even number of stages"},
    CounterWords{"sequence-divisible", "cut a sequence into unequal parts over TP"},
    CounterWords{"sharding-pipeline", "shard gradients or weights (zero2, zero3) in a pipeline"},
    CounterWords{"shared-ffn-divisible", "cut the shared expert into unequal parts over TP"},
    CounterWords{"shared-overlap-dispatcher",
                 "overlap the shared expert with a dispatcher that cannot"},
    CounterWords{"shared-overlap-ep-overlap",
                 "overlap the shared expert, and expert exchanges that hide it too"},
    CounterWords{"shared-overlap-present", "overlap a shared expert that the model does not have"},
    CounterWords{"shared-overlap-recompute", "overlap a shared expert that they recompute"},
    CounterWords{"stages", "have stages with choices that are no plan"},
    CounterWords{"stash-dispatcher", "have a paged stash with a dispatcher that has none"},
    CounterWords{"stash-offload", "offload what a paged stash holds"},
    CounterWords{"stash-present", "have a paged stash without experts"},
    CounterWords{"stash-sizes", "have a paged stash of an impossible size"},
    CounterWords{"tile-overlap-alone", "overlap expert exchanges by tiles and in another way"},
    CounterWords{"tile-overlap-dispatcher",
                 "overlap expert exchanges by tiles with a dispatcher of its own"},
    CounterWords{"tile-overlap-etp", "overlap an all-to-all by tiles with ETP above 1"},
    CounterWords{"tile-overlap-needs-ep", "overlap expert exchanges by tiles where there are none"},
    CounterWords{"tp-experts-need-sequence-parallel",
                 "spread experts beside TP without sequence parallelism"},
    CounterWords{"tp-overlap",
                 "overlap tensor-parallel exchanges without TP or sequence parallelism"},
    CounterWords{"world", "have degrees that do not multiply to the GPUs"}};

std::string sentence(const std::string& rule) {
  const std::string_view words = words_for_counter(rule);
  const bool outcome = std::ranges::find(kOutcomes, rule, &CounterWords::name) != kOutcomes.end();
  if (outcome) return std::string(words);
  if (words.empty()) return fmt::format("break the rule {}", rule);
  return fmt::format("{} (rule {})", words, rule);
}

}  // namespace

std::string_view words_for_counter(std::string_view name) {
  if (const auto at = std::ranges::find(kOutcomes, name, &CounterWords::name);
      at != kOutcomes.end()) {
    return at->words;
  }
  const auto at = std::ranges::find(kRules, name, &CounterWords::name);
  return at == kRules.end() ? std::string_view() : at->words;
}

std::string counters_text(const SearchResult& result, const Terminal& t) {
  std::vector<std::string> head{
      fmt::format("{} plans in the space", format_count(result.enumerated)),
      fmt::format("{} priced", format_count(result.priced)),
      fmt::format("{:.2f} s", result.seconds)};
  if (result.fallback_priced > 0) {
    head.push_back(fmt::format("{} more priced beforehand, to know good plans early",
                               format_count(result.fallback_priced)));
  }
  if (result.stage_ways > 0) {
    head.push_back(fmt::format("stages choose for themselves in {:.2g} ways", result.stage_ways));
  }
  std::vector<std::pair<std::string, std::int64_t>> counts(result.rejected.begin(),
                                                           result.rejected.end());
  std::ranges::stable_sort(counts, std::ranges::greater(), [](const auto& c) { return c.second; });
  Table table{{{"plans"}, {"of the space these", Align::left}}, {}};
  for (const auto& [rule, count] : counts) {
    table.rows.push_back({format_count(count), sentence(rule)});
  }
  return wrap_fields(head, ", ", t.columns, {"", "    "}) +
         (table.rows.empty() ? "" : to_text(table, t.columns));
}

std::string not_tried_text(const SearchResult& result, const Terminal& t) {
  std::string text;
  for (const NotTried& n : result.not_tried) {
    text += wrap_words(fmt::format("{}: {}", n.what, n.why), t.columns, {"  ", "    "});
  }
  return text;
}

}  // namespace pleat::cli
