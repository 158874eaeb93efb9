// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// config.json of Hugging Face models, and what is computed from every model that is accepted.
#include "core/spec/model.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const HfImport read = read_hf_config(std::string(input), "config.json", "model");
  const ModelSpec& model = read.model;
  require(model.layers > 0 && model.hidden > 0 && model.vocab > 0, "a model without a size");
  const ParameterCount count = count_parameters(model);
  require(count.total > 0 && count.active > 0, "a model without parameters");
  require(count.active <= count.total, "more active parameters than there are");
}

}  // namespace pleat::fuzz
