// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/init.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/diagnostics.hpp"
#include "core/numerics/normal.hpp"
#include "core/program/amax_buffers.hpp"
#include "core/program/step_state.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

// Some milliseconds' work: less is not worth a thread.
constexpr std::size_t kElementsOfAThread = std::size_t{1} << 16U;

// FNV-1a, 64 bits.
std::uint64_t hash(const std::string& name) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

bool is_norm_scale(const LayerProgram& layer, TensorId weight) {
  for (const Op& op : layer.forward) {
    const bool norm = op.kind == OpKind::rms_norm || op.kind == OpKind::layer_norm ||
                      op.kind == OpKind::rms_norm_quantize ||
                      op.kind == OpKind::head_norm || op.kind == OpKind::slice_norm;
    if (norm && std::find(op.in.begin(), op.in.end(), weight) != op.in.end()) return true;
  }
  return false;
}

// The table and the final norm are the model's also where a prediction layer holds them.
// Further depths have their number: "mtp.qkv", "mtp.1.qkv".
std::string whole_name(const LayerProgram& program, int layer, const std::string& base) {
  if (program.kind == LayerKind::dense || program.kind == LayerKind::moe) {
    return fmt::format("layers.{}.{}", layer, base);
  }
  const bool shared = base == "embedding" || base == "final_norm";
  if (program.kind != LayerKind::mtp || shared) return base;
  const std::string prefix = "mtp.";
  const std::string own = base.starts_with(prefix) ? base.substr(prefix.size()) : base;
  return program.depth == 0 ? prefix + own : fmt::format("{}{}.{}", prefix, program.depth, own);
}

std::string base_name(const std::string& tensor) {
  const std::string prefix = "W.";
  return tensor.starts_with(prefix) ? tensor.substr(prefix.size()) : tensor;
}

}  // namespace

std::vector<NamedPart> named_parts(const LayerProgram& layer, const LayerInstance& instance,
                                   const Weight& weight, const WeightRank& rank) {
  const Tensor& tensor = layer.tensor(weight.weight);
  const std::string base = base_name(tensor.name);
  const bool grouped = weight.bucket == Bucket::expert;
  const std::size_t dim = grouped ? 1 : 0;  // of the rows
  PLEAT_ASSERT(tensor.shape.size() > dim);
  const std::int64_t rows = tensor.shape[dim].n, local = grouped ? tensor.shape[0].n : 1;
  const std::int64_t each = tensor.elements({}) / local;
  const int number = instance.layer.value + tensor.of_layer;
  const NamedPart part{whole_name(layer, number, base), 0, each,
                       whole_elements(weight.cut, rows, each / rows),
                       runs_of(weight.cut, rows, each / rows, grouped ? rank.etp : rank.tp)};
  std::vector<NamedPart> parts(static_cast<std::size_t>(local), part);
  if (!grouped) return parts;
  const std::string group = "experts.";  // "experts.fc1" holds "experts.0.fc1", "experts.1.fc1" …
  const std::string name = base.starts_with(group) ? base.substr(group.size()) : base;
  for (std::int64_t e = 0; e < local; ++e) {
    NamedPart& p = parts[static_cast<std::size_t>(e)];
    std::int64_t expert = rank.ep * local + e;
    if (!instance.experts.empty()) {
      const ExpertSlots& slots = instance.experts[static_cast<std::size_t>(tensor.of_layer)];
      p.copy = slots.is_copy(expert);
      expert = slots.expert_of(expert);
    }
    p.name = whole_name(layer, number, fmt::format("{}{}.{}", group, expert, name));
    p.offset = e * each;
  }
  return parts;
}

WeightRank weight_rank(const Plan& plan, Rank rank) {
  const ExpertCoordinates expert = expert_coordinates(plan, rank);
  return {attention_coordinates(plan, rank).tp, expert.etp, expert.ep};
}

InitialValue initial_value(const LayerProgram& layer, const Weight& weight) {
  if (is_norm_scale(layer, weight.weight)) {
    const bool shifts = layer.tensor(weight.weight).shape.size() == 2;
    return shifts ? InitialValue::ones_then_zeros : InitialValue::ones;
  }
  const std::size_t matrix = weight.bucket == Bucket::expert ? 3 : 2;
  if (layer.tensor(weight.weight).shape.size() < matrix) return InitialValue::zeros;
  return InitialValue::normal;
}

std::map<std::string, InitialValue> initial_values(const Program& program) {
  PLEAT_ASSERT(program.plan.world() == 1);
  std::map<std::string, InitialValue> values;
  for (const ChunkProgram& chunk : program.stages[0].chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = program.stages[0].program(instance);
      for (const Weight& weight : layer.weights) {
        if (is_load(layer, weight) || is_amax(layer, weight)) continue;
        for (const NamedPart& part : named_parts(layer, instance, weight, {})) {
          values[part.name] = initial_value(layer, weight);
        }
      }
    }
  }
  return values;
}

std::uint64_t random_key(const std::string& name, std::uint64_t seed) {
  return mixed_bits(hash(name) ^ mixed_bits(seed));
}

void fill_normal(const std::string& name, std::uint64_t seed, std::int64_t first,
                 std::span<float> out, std::size_t threads) {
  const std::uint64_t key = random_key(name, seed);
  const auto fill = [key, first, out](std::size_t begin, std::size_t end) {
    normal_numbers(key, static_cast<std::uint64_t>(first) + begin, kInitStd,
                   out.subspan(begin, end - begin));
  };
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  threads = std::clamp<std::size_t>(out.size() / kElementsOfAThread, 1, threads);
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t) {
    others.emplace_back(fill, out.size() * t / threads, out.size() * (t + 1) / threads);
  }
  fill(0, out.size() / threads);
}

void fill_initial(InitialValue value, const std::string& name, std::uint64_t seed,
                  std::int64_t first, std::span<float> out) {
  switch (value) {
    case InitialValue::ones:
      std::fill(out.begin(), out.end(), 1.0F);
      return;
    case InitialValue::ones_then_zeros:
      std::fill_n(out.begin(), out.size() / 2, 1.0F);
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(out.size() / 2), out.end(), 0.0F);
      return;
    case InitialValue::zeros:
      std::fill(out.begin(), out.end(), 0.0F);
      return;
    case InitialValue::normal:
      fill_normal(name, seed, first, out);
      return;
  }
}

}  // namespace pleat
