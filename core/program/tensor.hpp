// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A tensor of a program: a name, a shape (possibly with a routed count), a type and a class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/ids.hpp"
#include "core/diagnostics.hpp"

namespace pleat {

// Counts that only routing decides. The simulator binds them to an expectation, the memory model to
// a capacity or to recorded counts, the backend to the real count.
enum class Symbol : std::uint8_t {
  one,
  routed,    // R: tokens received by this rank's experts in this microbatch and layer
  gathered,  // C: those that all etp peers received. Where it is not known as many as here from
             // each (n: the number of peers)
  kept,  // K: copies of this rank's tokens that no capacity drops. Where it is not known all (n)
};

// n × (value of symbol), for R.
struct Dim {
  std::int64_t n = 1;
  Symbol symbol = Symbol::one;
  bool operator==(const Dim&) const = default;
};

// Values of the symbols for one (microbatch, layer).
struct Binding {
  std::int64_t routed = 0;
  // With a paged stash: rows that a pass has room for, and that are kept between the passes; 0:
  // routed.
  std::int64_t room = 0, stashed = 0;
  std::int64_t gathered = -1, kept = -1;  // -1: not known
  [[nodiscard]] std::int64_t value(Dim d) const {
    switch (d.symbol) {
      case Symbol::one: return d.n;
      case Symbol::routed: return d.n * routed;
      case Symbol::gathered: return gathered >= 0 ? gathered : d.n * routed;
      case Symbol::kept: return kept >= 0 ? kept : d.n;
    }
    return d.n;
  }
  bool operator==(const Binding&) const = default;
};

enum class TensorClass : std::uint8_t {
  weight,           // view into a parameter bucket; lives as long as the step program
  gradient,         // view into a gradient bucket
  optimizer_state,  // step level
  host_state,       // step level, in host memory
  activation,       // instance per (microbatch, chunk, layer); has a Lifetime
  step_scratch,     // step level; has a StepLifetime in the epilogue. In a layer program: the
                    // stage's loss accumulator (StageProgram::loss)
};

struct Tensor {
  std::string name;
  TensorClass cls = TensorClass::activation;
  DType dtype = DType::fp32;
  std::vector<Dim> shape;  // row-major; [] is a scalar
  int of_layer = 0;        // where decoder layers are one program: of which one
  bool operator==(const Tensor&) const = default;

  [[nodiscard]] std::int64_t elements(const Binding& b) const {
    std::int64_t count = 1;
    for (const Dim& d : shape) count *= b.value(d);
    return count;
  }
  [[nodiscard]] bool is_routed() const {  // only routing decides its size
    for (const Dim& d : shape) {
      if (d.symbol != Symbol::one) return true;
    }
    return false;
  }
  [[nodiscard]] std::int64_t bytes(const Binding& b) const {
    return bytes_of(dtype, elements(b));
  }
  // Rows: every dimension but the last; columns: the last one.
  [[nodiscard]] std::int64_t columns(const Binding& b) const {
    return shape.empty() ? 1 : b.value(shape.back());
  }
  [[nodiscard]] std::int64_t rows(const Binding& b) const {
    const std::int64_t c = columns(b);
    return c == 0 ? 0 : elements(b) / c;
  }
};

}  // namespace pleat
