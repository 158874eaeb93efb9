// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron's .idx and .bin: two bytes with the length of the index, the index, the tokens.
#include <fstream>
#include <vector>

#include "backend/data/indexed_dataset.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/scratch_folder.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  if (input.size() < 2) return;
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(input[0])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(input[1]));
  input.remove_prefix(2);
  const std::string prefix = scratch_folder() + "/data";
  write_scratch(prefix + ".idx", input.substr(0, length));
  write_scratch(prefix + ".bin", length < input.size() ? input.substr(length) : "");
  const IndexedDataset data(prefix);
  std::vector<std::int32_t> tokens;
  std::int64_t sequence = 0;
  for (const std::int32_t n : data.lengths()) {
    tokens.resize(static_cast<std::size_t>(n));
    data.read(sequence++, 0, tokens);
  }
}

}  // namespace pleat::fuzz
