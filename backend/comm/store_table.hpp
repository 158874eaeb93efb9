// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The store of a job without sockets and without a clock, which StoreServer has: the values that it
// knows, who asks and who waits, and what each of them is answered.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/comm/socket.hpp"
#include "backend/comm/store_message.hpp"

namespace pleat {

struct StoreReply {
  int client = 0;
  StoreAnswer answer;
};

class StoreTable {
 public:
  using Replies = std::vector<StoreReply>;

  // A client that has shown that it is this process of the job; it gets a number of its own.
  [[nodiscard]] int join(int process);
  // Appends what is to be answered: this client, and others that have waited for it. False for a
  // question that it may not ask: it is not talked to any more.
  [[nodiscard]] bool ask(int client, const StoreQuestion&, Deadline now, Replies&);
  // One that leaves before the store is sealed has failed, if it has said its name.
  void leave(int client, Replies&);

  // Answers those that have waited for as long as they wanted; when the next one has.
  void give_up(Deadline now, Replies&);
  [[nodiscard]] std::optional<Deadline> next_deadline() const;
  // Clients that have not heard of the job's failure.
  [[nodiscard]] bool must_tell() const;

 private:
  struct Client {
    int process = 0;
    std::string name;
    std::optional<std::string> waits_for;  // a key
    Deadline waits_until;
    bool told = false;  // of the failure
  };
  void set(int client, const StoreQuestion&, Replies&);
  void get(int client, const StoreQuestion&, Deadline now, Replies&);
  void fail(const std::string& message, Replies&);

  std::map<int, Client> clients_;  // by number
  int next_client_ = 0;
  std::map<std::string, std::string> values_;
  std::optional<std::string> failure_;
  bool sealed_ = false;
};

}  // namespace pleat
