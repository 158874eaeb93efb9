// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A small key-value store over TCP, by which the processes of a job find each other. One process
// serves it, all that know the job's secret ask it. A client that leaves before the store is sealed
// has failed, and a failure answers every question that waits.
#pragma once

#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/handshake.hpp"
#include "backend/comm/lobby.hpp"
#include "backend/comm/message_reader.hpp"
#include "backend/comm/store_table.hpp"

namespace pleat {

// The store itself is there, but not the key.
class StoreTimeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class StoreServer {
 public:
  // Serves on a thread of its own. ConfigError as Lobby's.
  StoreServer(Socket listener, const JobSecret&, LobbyLimits = {});
  // After a failure waits until all have heard of it, for a second at most.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  // Who came and was not let in: Lobby::refused_text().
  [[nodiscard]] std::string refused_text() const;

 private:
  struct Client {
    int number = 0;  // the table's
    Socket socket;
    MessageTags sends;
    MessageReader<QuestionHeader> questions;
  };
  void serve();
  void let_in();
  [[nodiscard]] bool read(Client&);  // false: it is gone, or not talked to any more
  [[nodiscard]] bool answer(Client&);
  // False: the client that has asked is gone. poll() will see of the others that they are.
  bool send_all(const StoreTable::Replies&, int asked);
  [[nodiscard]] static bool send(Client&, const StoreAnswer&);  // false: it is gone

  Lobby lobby_;  // of the thread
  Socket wake_;
  mutable std::mutex refused_mutex_;
  std::string refused_;
  StoreTable table_;
  std::list<Client> clients_;
  std::thread thread_;
};

class StoreClient {
 public:
  // Tries until the deadline. `name` is what others are told if this client leaves early.
  // std::runtime_error if the server does not answer or does not know the secret.
  StoreClient(const Address&, const JobSecret&, int process, const std::string& name, Deadline);
  // Where the server sees this process: an address of the interface that reaches it.
  [[nodiscard]] Address local() const { return socket_.local(); }

  // False if the key has another value already. A process sets "process/<its number>", process 0
  // all keys; the server hangs up on who tries another.
  [[nodiscard]] bool set(const std::string& key, const std::string& value, Deadline);
  // Waits for the key; StoreTimeout at the deadline, std::runtime_error when the job failed or the
  // server is gone.
  [[nodiscard]] std::string get(const std::string& key, Deadline);
  // From now on every get() of every client throws this; the first failure counts.
  void fail(const std::string& message, Deadline);
  void seal(Deadline);  // clients may leave

 private:
  [[nodiscard]] StoreAnswer ask(const StoreQuestion&, Deadline);
  Socket socket_;
  MessageTags sends_;
  MessageReader<AnswerHeader> answers_;
};

}  // namespace pleat
