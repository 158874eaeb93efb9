// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A small key-value store over TCP, by which the processes of a job find each other. One process
// serves it, all that know the job's secret ask it. A client that leaves before the store is sealed
// has failed, and a failure answers every question that waits.
#pragma once

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/handshake.hpp"
#include "backend/comm/lobby.hpp"

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
    int process = 0;  // as it has shown
    Socket socket;
    Session session;
    std::string received, name;
    std::string waits_for = {};  // a key; empty: none
    Deadline waits_until = {};
    bool told = false;  // of the failure
  };
  void serve();
  void let_in();
  void give_up();
  [[nodiscard]] bool must_tell() const;
  [[nodiscard]] static bool may_set(const Client&, const std::string& key);
  bool read(Client&);  // false: it is gone
  bool answer(Client&);
  bool reply(Client&, char status, const std::string& value);
  void fail(const std::string& message);

  Lobby lobby_;  // of the thread
  Socket wake_;
  mutable std::mutex refused_mutex_;
  std::string refused_;
  std::map<std::string, std::string> values_;
  std::string failure_;
  bool sealed_ = false;
  std::vector<Client> clients_;
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
  std::string ask(char op, const std::string& key, const std::string& value, Deadline,
                  char& status);
  Socket socket_;
  Session session_;
};

}  // namespace pleat
