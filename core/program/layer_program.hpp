// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The forward and backward operations of one kind of layer on one rank, with every tensor's
// lifetime. Layers of the same kind share one LayerProgram; a chunk strings instances of them
// together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/program/op.hpp"
#include "core/program/tensor.hpp"
#include "core/program/weight_cut.hpp"

namespace pleat {

enum class LayerKind : std::uint8_t { embedding, dense, moe, mtp, head, recv, send };

enum class Pass : std::uint8_t { forward, backward };

// An operation of the layer: pass and index into forward or backward.
struct Point {
  Pass pass = Pass::forward;
  int op = 0;
  auto operator<=>(const Point&) const = default;
};

// An activation's storage exists from just before op `begin` to just after op `end`.
// Boundary tensors have one end in the neighbouring layer: `begin` is empty for the layer's input
// and grad_output (made by the neighbour), `end` is empty for its output and grad_input.
struct Lifetime {
  TensorId tensor;
  std::optional<Point> begin, end;
  bool operator==(const Lifetime&) const = default;
};

// Parameter buckets: dense gradients are summed over dp × cp, expert gradients over edp.
enum class Bucket : std::uint8_t { dense, expert };

struct Weight {
  TensorId weight, gradient;
  Bucket bucket = Bucket::dense;
  std::int64_t elements = 0;
  bool replicated = false;          // norms, router: the same on all ranks of tp; experts': of etp
  bool summed_over_tp = false;      // and each of those has a part of the gradient
  bool buffer = false;              // no gradient, no optimizer state (expert bias)
  bool written = false;             // its gradient needs no zeros: one product makes it, and writes
  Cut cut = {};                     // from the whole weight; of each expert's matrix where grouped
};

// A layer's weights of one bucket where they lie in shards (ZeRO-2, ZeRO-3): its gradients are
// whole in `gradients` until they are reduced, its weights, with ZeRO-3, in `forward` and
// `backward`. Weights are there in the order of their slots. The embedding's table, which other
// layers may have too, is by itself.
struct ShardedWeights {
  Bucket bucket = Bucket::dense;
  bool table = false;
  TensorId gradients;
  std::optional<TensorId> forward, backward;
};

struct LayerProgram {
  LayerKind kind = LayerKind::dense;
  int layers = 1;  // more: decoder layers that are recomputed together
  int depth = 0;   // mtp: number of the prediction depth
  // Of each of its layers with experts, where it is known: index into WorkloadSpec::expert_loads.
  std::vector<int> loads;
  std::vector<Tensor> tensors;
  std::vector<Op> forward, backward;
  std::vector<Weight> weights;
  std::vector<ShardedWeights> sharded;
  std::vector<Lifetime> lives;
  // Where the backward pass is split: its ops from here on make weight gradients only, and may run
  // in a slot of their own (passes/split_backward.hpp). None: the pass is one.
  std::optional<int> weight_ops;
  // Boundary. Empty where the layer has none (embedding has no input, head no output).
  std::optional<TensorId> input, output, grad_output, grad_input;

  [[nodiscard]] const std::vector<Op>& ops(Pass p) const {
    return p == Pass::forward ? forward : backward;
  }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[id.index()]; }
};

// Decoder layers in forward order as one: each reads what the one before wrote. `moe` if any is.
[[nodiscard]] LayerProgram merge_layers(std::vector<LayerProgram>);

// Derives `lives` from first write to last use. Called once, after the last pass.
void compute_lifetimes(LayerProgram&);

// The tensors written in the forward pass and still live when it ends: what the layer saves.
[[nodiscard]] std::vector<TensorId> saved_tensors(const LayerProgram&);

}  // namespace pleat
