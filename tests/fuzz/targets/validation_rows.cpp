// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of published runs.
#include "validation/measured_run.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json_lines;

void run(std::string_view input) { (void)read_runs(std::string(input), "runs.jsonl"); }

}  // namespace pleat::fuzz
