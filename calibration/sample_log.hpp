// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The raw times of a calibration while it runs, a line of JSON each point: appended and
// synchronised, so that a calibration that was killed goes on where it was.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/microbench/clock.hpp"

namespace pleat {

class SampleLog {
 public:
  // Opens or makes the file and reads what is there; a last line that was not finished is removed.
  // `facts`: what the times depend on, "plan" among them. ConfigError (device_or_io) where it
  // cannot be used, (verification) where it is of other facts.
  SampleLog(std::string path, const std::vector<std::pair<std::string, std::string>>& facts);
  ~SampleLog();
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  // Null: not measured. Without times: measured in vain.
  [[nodiscard]] const Timing* find(const std::string& name) const;
  void add(const std::string& name, const Timing&);
  [[nodiscard]] std::size_t found() const { return found_; }  // points that were there at the start

 private:
  void append(const std::string& line);
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int fd_ = -1;
  std::map<std::string, Timing> timings_;
  std::size_t found_ = 0;
};

}  // namespace pleat
