// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The file manifest.json of a checkpoint. It says how far training was, the size and digest of
// every file, and which elements of which tensors are in each rank's shard. docs/FORMATS.md has the
// format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/checkpoint/element_type.hpp"

namespace pleat {

inline constexpr int kCheckpointSchemaVersion = 1;

// Elements of a whole tensor: `count` runs of `elements` consecutive ones. The first run begins at
// `whole`, each further one `step` elements after the one before.
struct RunPattern {
  std::int64_t whole = 0, elements = 0, count = 1, step = 0;
  bool operator==(const RunPattern&) const = default;
  [[nodiscard]] std::int64_t total() const { return elements * count; }
};

// Appends a run. If it continues the last pattern, it becomes a part of it.
void add_run(std::vector<RunPattern>&, std::int64_t whole, std::int64_t elements);

// What the shard of one rank holds of a tensor: the elements of these runs, one after the other.
struct TensorPart {
  int rank = 0;
  std::vector<RunPattern> runs;
  bool operator==(const TensorPart&) const = default;
};

struct SavedTensor {
  ElementType type = ElementType::f32;
  std::int64_t elements = 0;  // of the whole tensor
  std::vector<TensorPart> parts;
  bool operator==(const SavedTensor&) const = default;
};

struct SavedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string digest;
  bool operator==(const SavedFile&) const = default;
};

// How far training was, between two steps.
struct TrainingState {
  std::int64_t step = 0;     // steps done
  std::int64_t updates = 0;  // steps that have changed the weights
  std::int64_t samples = 0;  // samples of the data that have been used
  std::int64_t seq_len = 0, global_batch = 0;
  std::uint64_t seed = 0;
  std::string data;  // digest of some samples
  // Samples that their order was made for; 0: a checkpoint of before this was noted.
  std::int64_t order_samples = 0;
  std::int64_t data_begins = 0;  // the run's first sample of this data; others were before
  bool operator==(const TrainingState&) const = default;
};

struct Manifest {
  TrainingState state;
  int world = 1;
  std::string plan;  // its summary, for readers
  std::vector<SavedFile> files;
  std::map<std::string, SavedTensor> tensors;  // "exp_avg/layers.3.qkv"
  bool operator==(const Manifest&) const = default;
};

[[nodiscard]] std::string shard_name(int rank);  // "shard_00003.safetensors"

[[nodiscard]] std::string write_manifest(const Manifest&);
// Throws ConfigError (bad_file) if the text is not a complete manifest of this version.
[[nodiscard]] Manifest read_manifest(const std::string& text, const std::string& path);

// One rank's part of the manifest. Every rank sends its part to rank 0.
struct ShardRecord {
  SavedFile file;
  std::map<std::string, SavedTensor> tensors;
};
[[nodiscard]] std::string write_record(const ShardRecord&);
void add_record(Manifest&, const std::string& record);

}  // namespace pleat
