// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pipeline layouts in Megatron's words: layers, whether there is a prediction block, PP, VPP, the
// string.
#include "core/plan/layout.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  // Layers, whether there is a prediction block, PP and VPP; then the layout.
  if (input.size() < 4) return;
  const auto number = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
  const int layers = 1 + number(0), pp = 1 + number(2), vpp = 1 + number(3);
  const bool mtp = (number(1) & 1) != 0;
  const auto stages = parse_layout(std::string(input.substr(4)), layers, mtp, pp, vpp);
  require(stages.size() == static_cast<std::size_t>(pp) * static_cast<std::size_t>(vpp),
          "another number of stages");
  std::int64_t found = 0;
  for (const VirtualStage& s : stages) found += s.layers;
  require(found == layers, "another number of layers");
  require(parse_layout(to_layout_string(stages), layers, mtp, pp, vpp) == stages,
          "a layout that is not read as written");
}

}  // namespace pleat::fuzz
