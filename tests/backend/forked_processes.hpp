// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Real processes for tests that kill some of them: forked from the test, joined over TCP.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "backend/comm/job_part.hpp"

namespace pleat::test::forked {

struct Ended {
  int code = -1;  // -signal when it was killed
  std::string said;
};

// Forks `processes` that run `body` each and exit with what it returns; a string goes to the test.
// Nothing of the parent may hold threads: this is a test binary that has none.
inline std::vector<Ended> run_processes(int processes,
                                 const std::function<int(int process, std::string& say)>& body) {
  std::vector<pid_t> children;
  std::vector<int> pipes;
  for (int p = 0; p < processes; ++p) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      std::string say;
      int code = 99;
      try {
        code = body(p, say);
      } catch (const std::exception& e) {
        say = std::string("outside of train(): ") + e.what();
      }
      EXPECT_EQ(write(ends[1], say.data(), say.size()), static_cast<ssize_t>(say.size()));
      _exit(code);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
    children.push_back(child);
  }
  std::vector<Ended> all;
  for (std::size_t p = 0; p < children.size(); ++p) {
    Ended e;
    char piece[4096];
    for (ssize_t n; (n = read(pipes[p], piece, sizeof piece)) > 0;) {
      e.said.append(piece, static_cast<std::size_t>(n));
    }
    close(pipes[p]);
    int status = 0;
    waitpid(children[p], &status, 0);
    e.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    all.push_back(std::move(e));
  }
  return all;
}

// One job: `ranks` of each process; the listener is made before the fork, so that its port is
// known.
struct TcpJob {
  explicit TcpJob(std::vector<int> ranks_of_each)
      : ranks(std::move(ranks_of_each)), listener(listen_at({"127.0.0.1", 0})) {}
  [[nodiscard]] JobPart join(int process, MeshTimes times = {}) {
    Meeting m;
    m.at = {listener.local()};
    m.process = process;
    m.processes = static_cast<int>(ranks.size());
    m.ranks = ranks[static_cast<std::size_t>(process)];
    m.world = std::accumulate(ranks.begin(), ranks.end(), 0);
    if (process == 0) {
      m.listener = std::move(listener);
    } else {
      listener.close();
    }
    return JobPart::over_tcp(std::move(m), times);
  }
  std::vector<int> ranks;
  Socket listener;
};

}  // namespace pleat::test::forked
