// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_library.hpp"

#include <type_traits>

#include "core/plan/numerics.hpp"
#include "core/program/pipeline_order.hpp"

namespace pleat {
namespace {

// Whether no pass of these plans changes a layer across its halves, or counts something of it once.
// Pleat's kernels convert what they make for the next ones (fuse_quantization).
bool halves_add_up(const Plan& plan, Runtime runtime) {
  const bool fuses = runtime == Runtime::pleat && has_narrow_operands(plan.precision);
  const bool gives_up = !plan.recompute.empty() || plan.recompute_full || !plan.offload.empty() ||
                        plan.offload_layers > 0 || plan.paged_stash.buffer > 0;
  const bool by_layer = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  return !fuses && !gives_up && !by_layer && !splits_backward(plan.schedule) &&
         !plan.overlap.delay_wgrad;
}

LayerVariant mixer_of(LayerVariant layer) {
  layer.kind = LayerKind::dense;
  layer.traits.mlp = false;
  layer.loads = -1;
  return layer;
}
LayerVariant rest_of(LayerVariant layer) {
  layer.traits = {.mixer = Mixer::none};
  return layer;
}

}  // namespace

LayerMemo::LayerMemo(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                     const ClusterView& view, Runtime runtime)
    : plan_(plan),
      view_(view),
      runtime_(runtime),
      shape_(model, workload, plan_),
      rows_(model, workload, plan_) {}

LayerMemo::Layer& LayerMemo::layer_of(const LayerVariant& variant) {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Layer>& known : layers_) {
    if (known->variant == variant) return *known;
  }
  layers_.push_back(std::make_unique<Layer>(Layer{.variant = variant}));
  return *layers_.back();
}

// Threads that miss the same at once each work it out, and the first one's stays: others of this
// memo are not held up meanwhile.
template <class Price, class Make>
const Price& LayerMemo::get(const LayerVariant& variant, std::optional<Price> Layer::*price,
                            const Make& make) {
  Layer& layer = layer_of(variant);
  {
    const std::lock_guard lock(mutex_);
    if (layer.*price) return *(layer.*price);
  }
  Price made = make(compiled(layer));
  const std::lock_guard lock(mutex_);
  std::optional<Price>& known = layer.*price;
  if (!known) known = std::move(made);
  return *known;
}

template <class Price, class Make>
std::shared_ptr<const Price> LayerMemo::get(Layer& layer, ByClock<Price> Layer::*price, int clock,
                                            const Make& make) {
  const auto known = [&]() -> std::shared_ptr<const Price> {
    for (const AtClock<Price>& at : layer.*price) {
      if (at.clock == clock) return at.price;
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto found = known()) return found;
  }
  auto made = std::make_shared<const Price>(make());
  const std::lock_guard lock(mutex_);
  if (auto found = known()) return found;
  const bool of_program = std::is_same_v<Price, PricedLayer>;
  if (!of_program || layer.program) (layer.*price).push_back({clock, made});  // not yet forgotten
  return made;
}

SharedLayer LayerMemo::program(const LayerVariant& variant, bool keep) {
  Layer& layer = layer_of(variant);
  SharedLayer program = compiled(layer);
  if (!keep) return program;
  const std::lock_guard lock(mutex_);
  layer.kept = true;
  if (!layer.program) layer.program = program;  // it was forgotten meanwhile
  return program;
}

std::shared_ptr<const PricedLayer> LayerMemo::ops(const LayerVariant& variant, int clock,
                                                  const Profile& profile) {
  Layer& layer = layer_of(variant);
  return ops(layer, compiled(layer), clock, profile);
}

std::shared_ptr<const PricedLayer> LayerMemo::ops(Layer& layer, const SharedLayer& program,
                                                  int clock, const Profile& profile) {
  return get(layer, &Layer::ops, clock,
             [&] { return price_ops(program, rows_.of(program), view_, profile); });
}

SharedLayer LayerMemo::compiled(Layer& layer) {
  {
    const std::lock_guard lock(mutex_);
    if (layer.program) return *layer.program;
  }
  const LayerVariant plain = without_loads(layer.variant);
  SharedLayer made = plain == layer.variant
                         ? SharedLayer(compile_layer(shape_, runtime_, layer.variant))
                         : program(plain, false);
  if (plain != layer.variant) made.own().loads = loads_of(layer.variant);
  const LayerWeights weights = count_weights(made);
  const std::lock_guard lock(mutex_);
  if (!layer.weights) layer.weights = weights;  // they are asked for when it is forgotten
  if (!layer.program) layer.program = std::move(made);
  return *layer.program;
}

const LayerCosts& LayerMemo::costs(const LayerVariant& variant, int clock,
                                   const Profile& profile) {
  Layer& layer = layer_of(variant);
  return *get(layer, &Layer::costs, clock, [&] {
    const SharedLayer program = compiled(layer);
    const auto priced = ops(layer, program, clock, profile);
    return price({program, *priced}, rows_.of(program), view_, profile);
  });
}

const LayerWork& LayerMemo::work(const LayerVariant& variant, int clock, const Profile& profile,
                                 bool all) {
  Layer& layer = layer_of(variant);
  return *get(layer, all ? &Layer::work : &Layer::compute, clock, [&] {
    const SharedLayer program = compiled(layer);
    const Binding rows = rows_.of(program);
    if (!all) return compute_of(program, rows, view_, profile);
    const auto priced = ops(layer, program, clock, profile);
    return work_of({program, *priced}, rows, view_, profile);
  });
}

const LayerSavings& LayerMemo::savings(const LayerVariant& variant, const Profile& profile) {
  return get(variant, &Layer::savings, [&](const SharedLayer& program) {
    const Binding rows = rows_.of(program);  // savings refer to it
    return savings_of(program, runtime_, rows, view_, profile);
  });
}

const LayerWeights& LayerMemo::weights(const LayerVariant& variant) {
  return get(variant, &Layer::weights,
             [](const SharedLayer& program) { return count_weights(program); });
}

void LayerMemo::forget(bool all) {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Layer>& layer : layers_) {
    layer->kept = layer->kept && !all;
    if (layer->kept) continue;
    layer->program.reset();
    layer->ops.clear();
  }
}

LayerLibrary::LayerLibrary(const MemoSource& source, const ClusterSpec& cluster, const Plan& plan,
                           Runtime runtime)
    : source_(source),
      cluster_(cluster),
      plan_(plan),
      halves_add_up_(halves_add_up(plan, runtime)) {}

LayerMemo& LayerLibrary::memo_of(const LayerVariant& variant) {
  const LayerGroup group = group_of(variant);
  std::atomic<LayerMemo*>& known = memos_[static_cast<std::size_t>(group)];
  LayerMemo* memo = known.load(std::memory_order_acquire);
  if (memo == nullptr) {
    memo = &source_(plan_, group);  // the same for every thread
    known.store(memo, std::memory_order_release);
  }
  return *memo;
}

SharedLayer LayerLibrary::program(const LayerVariant& variant) {
  return memo_of(variant).program(variant, true);
}

const LayerCosts& LayerLibrary::costs(const LayerVariant& variant, int clock,
                                      const Profile& profile) {
  return memo_of(variant).costs(variant, clock, profile);
}

const PassCost& LayerLibrary::pair(const LayerVariant& forward, const LayerVariant& backward,
                                   int clock, const Profile& profile) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = pairs_.try_emplace({forward, backward, clock});
  if (fresh) {
    const Seconds alone = costs(forward, clock, profile).forward.streams +
                          costs(backward, clock, profile).backward.streams;
    LayerMemo &of_f = memo_of(forward), &of_b = memo_of(backward);
    const SharedLayer f = of_f.program(forward, false), b = of_b.program(backward, false);
    const auto f_ops = of_f.ops(forward, clock, profile);
    const auto b_ops = of_b.ops(backward, clock, profile);
    found->second = price_pair({f, *f_ops}, {b, *b_ops}, {of_f.rows_of(f), of_b.rows_of(b)},
                               view_cluster(cluster_, plan_), profile, plan_.overlap.delay_wgrad,
                               alone);
  }
  return found->second;
}

std::size_t LayerLibrary::LayerPair::Hash::operator()(const LayerPair& pair) const {
  const VariantHash hash;
  return (hash(pair.forward) * 31 + hash(pair.backward)) * 31 +
         static_cast<std::size_t>(pair.clock);
}

bool LayerLibrary::in_halves(const LayerVariant& variant) const {
  const bool decoder = variant.kind == LayerKind::dense || variant.kind == LayerKind::moe;
  return halves_add_up_ && decoder && variant.more.empty() && variant.traits.mlp &&
         variant.traits.mixer != Mixer::none;
}

LayerWork LayerLibrary::work(const LayerVariant& variant, int clock, const Profile& profile,
                             bool all) {
  const auto known = [&](const LayerVariant& v) -> const LayerWork& {
    return memo_of(v).work(v, clock, profile, all);
  };
  if (!in_halves(variant)) return known(variant);
  return both_halves(known(mixer_of(variant)), known(rest_of(variant)));
}

LayerWeights LayerLibrary::least_weights(const LayerVariant& variant) {
  if (!in_halves(variant)) return weights(variant);
  return both_halves(weights(mixer_of(variant)), weights(rest_of(variant)));
}

const LayerSavings& LayerLibrary::savings(const LayerVariant& variant, const Profile& profile) {
  return memo_of(variant).savings(variant, profile);
}

const LayerWeights& LayerLibrary::weights(const LayerVariant& variant) {
  return memo_of(variant).weights(variant);
}

void LayerLibrary::forget(bool all) {
  for (const std::atomic<LayerMemo*>& known : memos_) {
    if (LayerMemo* const memo = known.load(std::memory_order_acquire)) memo->forget(all);
  }
}

}  // namespace pleat
