// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// MPI tells the processes where process 0 listens; there they meet as over TCP, because MPI has no
// way of saying that one of them is gone.
#include "backend/comm/mpi_job.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "backend/comm/mpi_wire.hpp"

namespace pleat {
namespace {

using Name = std::array<char, 256>;

// What has to be known before MPI_Init; a person's own setting stays.
void set_up_open_mpi() {
  // More ranks than cores spin in each other's way: an allreduce of 4 KB takes 50 ms, not 0.1.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  // Reading another process's memory is forbidden in most containers, and fails in the middle.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
}

Name own_name() {
  Name name{};
  const std::string host = host_name();
  std::copy_n(host.begin(), std::min(host.size(), name.size() - 1), name.begin());
  return name;
}

// This host's IPv4 addresses that others may reach, best guess first.
std::string reachable_addresses() {
  std::string all;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return all;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text,
              sizeof text);
    if (std::string(text).starts_with("127.")) continue;
    all += std::string(text) + " ";
  }
  freeifaddrs(list);
  return all;
}

// Process 0's host and addresses, told to all.
std::vector<Address> tell_addresses(int process, const Socket& listener, bool one_host) {
  std::array<char, 4096> told{};
  if (process == 0) {
    const std::string hosts = one_host ? "127.0.0.1" : reachable_addresses() + own_name().data();
    const std::string text = fmt::format("{} {}", listener.local().port, hosts);
    std::copy_n(text.begin(), std::min(text.size(), told.size() - 1), told.begin());
  }
  MPI_Bcast(told.data(), static_cast<int>(told.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::istringstream in(told.data());
  std::vector<Address> all;
  int port = 0;
  in >> port;
  for (std::string host; in >> host;) all.push_back({host, port});
  return all;
}

// Made by process 0 for this job. MPI's own connections are as trusted as its launcher makes them.
JobSecret tell_secret(int process) {
  std::array<char, 65> told{};
  if (process == 0) {
    const std::string text = new_secret_text();
    std::copy_n(text.begin(), std::min(text.size(), told.size() - 1), told.begin());
  }
  MPI_Bcast(told.data(), static_cast<int>(told.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return JobSecret(told.data());
}

}  // namespace

bool has_mpi() { return true; }

JobPart join_over_mpi(const MpiMeeting& m, MeshTimes times) {
  set_up_open_mpi();
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    throw std::runtime_error("this MPI does not let threads call it");
  }
  Meeting meeting;
  MPI_Comm_rank(MPI_COMM_WORLD, &meeting.process);
  MPI_Comm_size(MPI_COMM_WORLD, &meeting.processes);
  if (m.processes >= 0 && (m.processes != meeting.processes || m.process != meeting.process)) {
    throw std::runtime_error(fmt::format("MPI says process {} of {}, the launcher said {} of {}",
                                         meeting.process, meeting.processes, m.process,
                                         m.processes));
  }
  const Name mine = own_name();
  std::vector<Name> names(static_cast<std::size_t>(meeting.processes));
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, names.data(),
                static_cast<int>(mine.size()), MPI_CHAR, MPI_COMM_WORLD);
  const bool one_host =
      std::all_of(names.begin(), names.end(), [&](const Name& n) { return n == names.front(); });
  if (meeting.process == 0) meeting.listener = listen_at({one_host ? "127.0.0.1" : "0.0.0.0", 0});
  meeting.at = tell_addresses(meeting.process, meeting.listener, one_host);
  meeting.secret = tell_secret(meeting.process);
  meeting.ranks = m.ranks;
  meeting.world = m.world;
  meeting.fingerprint = m.fingerprint;
  meeting.timeout_s = m.timeout_s;
  return JobPart::over_wire(std::move(meeting), make_mpi_wire, times);
}

}  // namespace pleat
