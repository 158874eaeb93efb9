// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pipeline layout strings, Megatron's --pipeline-model-parallel-layout: E embedding, t decoder
// layer, m MTP, L loss, | ends a virtual stage, x*n and (…)*n repeat, commas are ignored. Virtual
// stage i lives on pipeline rank i mod pp as its chunk i div pp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pleat {

struct VirtualStage {
  bool embedding = false;
  std::int64_t first_layer = 0;  // decoder layers [first_layer, first_layer + layers)
  std::int64_t layers = 0;
  bool mtp = false;
  bool loss = false;
  bool operator==(const VirtualStage&) const = default;
};

inline constexpr std::size_t kMaxLayoutLength = 100'000;  // expanded characters

// Expands and parses; throws ConfigError (position and count) when the string is malformed, when
// its expansion is longer than kMaxLayoutLength (checked before expanding), when E, L or a layer is
// missing, or when the number of virtual stages is not pp*vpp.
[[nodiscard]] std::vector<VirtualStage> parse_layout(const std::string& layout, std::int64_t layers,
                                                     bool mtp, int pp, int vpp);

// L layers over pp*vpp virtual stages. Even where it divides; otherwise embedding and loss count as
// a layer each (Megatron's account_for_embedding/loss_in_pipeline_split) if that divides; otherwise
// the remainder goes one each to the stages after the first.
[[nodiscard]] std::vector<VirtualStage> even_layout(std::int64_t layers, bool mtp, int pp, int vpp);
[[nodiscard]] std::string to_layout_string(const std::vector<VirtualStage>&);

// The plan's layout if it has one, else the even one.
[[nodiscard]] std::vector<VirtualStage> stage_layout(const struct Plan&, const struct ModelSpec&);

}  // namespace pleat
