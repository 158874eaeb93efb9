// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// TensorBoard's event files: scalars by tag and step (tensorboard/summary/writer, compat/proto).
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace pleat {

// CRC-32C (Castagnoli), and masked as records carry it.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

// One record of a file: length, its checksum, data, its checksum.
[[nodiscard]] std::string event_record(std::string_view data);
// The Event message of some scalars.
[[nodiscard]] std::string scalar_event(double wall_time, std::int64_t step,
                                       const std::map<std::string, float>& scalars);

class EventFile {
 public:
  // Makes the folder, and a new file in it. Throws ConfigError (device_or_io).
  explicit EventFile(const std::string& folder);
  // Written when this returns; throws ConfigError (device_or_io).
  void add(std::int64_t step, const std::map<std::string, float>& scalars);

 private:
  void write(const std::string& event);

  std::string path_;
  std::ofstream out_;
};

}  // namespace pleat
