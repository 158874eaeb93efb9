// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Traces of steps. What is read is written and read again.
#include "core/trace/trace.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const Trace trace = read_trace(std::string(input), "trace.json");
  const Trace again = read_trace(write_trace(trace), "again.json");
  require(again.spans.size() == trace.spans.size(), "a trace that loses spans");
}

}  // namespace pleat::fuzz
