// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Jobs of every transport inside one test process, so that one thread each looks at all ranks.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/job_part.hpp"
#include "backend/comm/message_communicator.hpp"

namespace pleat::test {

enum class Kind { threads, messages, tcp, tcp_pairs };  // tcp_pairs: two ranks a process

struct JobShape {
  Kind kind = Kind::threads;
  int world = 1;
};
inline std::string name_of(const JobShape& s) {
  const char* const names[] = {"Threads", "Messages", "Tcp", "TcpPairs"};
  return names[static_cast<int>(s.kind)] + std::to_string(s.world);
}

using Body = std::function<void(Transport&)>;

// Runs `body` for some ranks of one process.
inline void run_part(const std::vector<std::unique_ptr<Transport>>& ranks, const Body& body,
                     std::vector<std::string>& thrown) {
  std::vector<std::jthread> threads;
  for (const auto& rank : ranks) {
    threads.emplace_back([&body, &thrown, transport = rank.get()] {
      try {
        body(*transport);
      } catch (const std::runtime_error& error) {
        thrown[transport->rank().index()] = error.what();
      }
    });
  }
}

inline void run_tcp(int world, int ranks_each, const Body& body, std::vector<std::string>& thrown) {
  Socket listener = listen_at({"127.0.0.1", 0});
  const Address at = listener.local();
  const int processes = (world + ranks_each - 1) / ranks_each;
  std::vector<std::jthread> threads;
  for (int p = 0; p < processes; ++p) {
    Meeting m;
    m.at = {at};
    m.process = p;
    m.processes = processes;
    m.ranks = std::min(ranks_each, world - p * ranks_each);
    m.world = world;
    if (p == 0) m.listener = std::move(listener);
    threads.emplace_back([&, meeting = std::make_shared<Meeting>(std::move(m))] {
      const JobPart part = JobPart::over_tcp(std::move(*meeting));
      run_part(part.ranks(), body, thrown);
    });
  }
}

// Runs `body` on every rank; returns what each threw, "" if nothing.
inline std::vector<std::string> run_ranks(const JobShape& shape, const Body& body) {
  std::vector<std::string> thrown(static_cast<std::size_t>(shape.world));
  switch (shape.kind) {
    case Kind::threads:
      run_part(JobPart::of_threads(shape.world).ranks(), body, thrown);
      break;
    case Kind::messages:
      run_part(
          make_message_transports(std::make_shared<MessageHub>(Rank{0}, shape.world), shape.world),
          body, thrown);
      break;
    case Kind::tcp:
      run_tcp(shape.world, 1, body, thrown);
      break;
    case Kind::tcp_pairs:
      run_tcp(shape.world, 2, body, thrown);
      break;
  }
  return thrown;
}

inline void expect_runs(const JobShape& shape, const Body& body) {
  EXPECT_EQ(run_ranks(shape, body),
            std::vector<std::string>(static_cast<std::size_t>(shape.world)));
}

}  // namespace pleat::test
