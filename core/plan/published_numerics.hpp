// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats that published runs use, and what each format does to the numbers: a file of
// configs/numerics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/numerics_rows.hpp"

namespace pleat {

// What one or more values together change.
struct NumericsEffect {
  std::vector<NumericsValue> values;
  std::string words;    // "bf16 moments"
  std::string changes;  // what is rounded, and where
  std::string risk;     // what has been seen, or could go wrong
  std::string source;
};

// The formats of one published run, or of all runs of a program.
struct NumericsRecipe {
  std::string name;
  std::vector<std::string> gpus;      // names of GPUs that it ran on, or of their generation
  std::vector<std::string> families;  // Hugging Face's model_type; empty: any
  std::vector<NumericsValue> values;  // all others are the runtime's usual ones
  std::optional<Runtime> runtime;     // that it ran on; empty: a program that is none here
  std::string run;                    // id of a row in configs/validation; empty: none
  std::string source;
  [[nodiscard]] bool names_precision() const;
  [[nodiscard]] Precision precision() const;  // of one that names it
};

struct PublishedNumerics {
  std::vector<NumericsEffect> effects;
  std::vector<NumericsRecipe> recipes;
};

[[nodiscard]] PublishedNumerics read_published_numerics(const std::string& text,
                                                        const std::string& file_name);

// The recipes of a GPU and a family of models. Those of any family only where none is of the family
// itself.
[[nodiscard]] std::vector<NumericsRecipe> recipes_of(const PublishedNumerics&,
                                                     const std::string& gpu,
                                                     const std::string& family);

// What `other` changes against `numerics`. A value that no effect tells of is one by its field's
// path, without a risk.
[[nodiscard]] std::vector<NumericsEffect> effects_of(const PublishedNumerics&,
                                                     const Numerics& numerics,
                                                     const Numerics& other);

// "bf16 gradients, bf16 moments".
[[nodiscard]] std::string listed_words(const std::vector<NumericsEffect>&);

}  // namespace pleat
