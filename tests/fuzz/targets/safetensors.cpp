// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Headers of weight files. Every entry lies within the data.
#include "backend/checkpoint/safetensors.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::length_json;

void run(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input));
  const SafetensorsHeader header = read_safetensors_header(bytes, "model.safetensors");
  std::uint64_t before = 0;
  for (const TensorEntry& t : header.tensors) {
    require(t.begin >= before && t.end >= t.begin && t.end <= input.size(), "a tensor elsewhere");
    require(t.elements() >= 0, "a size below zero");
    before = t.end;
  }
}

}  // namespace pleat::fuzz
