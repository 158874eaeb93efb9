// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Objects for Kubernetes: Kubeflow's TrainJob, PyTorchJob and MPIJob, and JobSet. Commands are
// lists of words, no shell; "$(" of foreign text is escaped, because Kubernetes replaces $(NAME) in
// them.
#include <fmt/format.h>

#include "core/diagnostics.hpp"
#include "interop/launch.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {
namespace {

JsonValue object() { return JsonValue::object(); }

JsonValue list(const std::vector<std::string>& words) {
  JsonValue out = JsonValue::array();
  for (const std::string& word : words) out.push_back(word);
  return out;
}

std::string literal(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '$') out += '$';
  }
  return out;
}

std::vector<std::string> script_words(const Launch& l) {
  std::vector<std::string> words{literal(l.slots.script)};
  for (const std::string& word : script_arguments(l)) words.push_back(literal(word));
  return words;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// `pleat train` with one process a pod, all ranks of the node in it; `place` says which one it is.
std::vector<std::string> pleat_words(const Launch& l, const std::vector<std::string>& place) {
  std::vector<std::string> words{"pleat", "train", "--resume", "--ranks",
                                 std::to_string(l.ranks_per_node())};
  words.insert(words.end(), place.begin(), place.end());
  for (const std::string& word : script_arguments(l)) words.push_back(literal(word));
  return words;
}

// Of the object that holds the job's secret.
std::string secret_name(const Launch& l) { return dns_label(l.slots.name + "-secret"); }

// MPI hands the secret on itself.
bool needs_secret(const Launch& l) {
  return l.trainer == Trainer::pleat && l.slots.kind != JobKind::mpi_job && l.nodes() > 1;
}

JsonValue environment(const Launch& l) {
  JsonValue out = JsonValue::array();
  if (needs_secret(l)) {
    out.push_back(object()
                      .set("name", "PLEAT_JOB_SECRET")
                      .set("valueFrom",
                           object().set("secretKeyRef", object()
                                                            .set("name", secret_name(l))
                                                            .set("key", "secret"))));
  }
  for (const auto& [name, value] : job_environment(l))
    out.push_back(object().set("name", name).set("value", literal(value)));
  return out;
}

JsonValue gpus(const Launch& l) {
  return object().set("limits", object().set("nvidia.com/gpu", l.ranks_per_node()));
}

JsonValue volume_mounts(const Launch& l) {
  JsonValue mounts = JsonValue::array();
  mounts.push_back(object().set("name", "shm").set("mountPath", "/dev/shm"));
  if (!l.slots.claim.empty())
    mounts.push_back(object().set("name", "workspace").set("mountPath", "/workspace"));
  return mounts;
}

JsonValue volumes(const Launch& l) {
  JsonValue list = JsonValue::array();
  list.push_back(object().set("name", "shm").set("emptyDir", object().set("medium", "Memory")));
  if (!l.slots.claim.empty()) {
    list.push_back(object()
                       .set("name", "workspace")
                       .set("persistentVolumeClaim", object().set("claimName", l.slots.claim)));
  }
  return list;
}

JsonValue container(const Launch& l, const char* name, const std::vector<std::string>& command,
                    bool has_gpus) {
  JsonValue out =
      object().set("name", name).set("image", l.slots.image).set("command", list(command));
  out.set("env", environment(l));
  if (has_gpus) out.set("resources", gpus(l));
  return out.set("volumeMounts", volume_mounts(l));
}

JsonValue pod(const Launch& l, JsonValue first_container) {
  JsonValue containers = JsonValue::array();
  containers.push_back(std::move(first_container));
  return object()
      .set("terminationGracePeriodSeconds", l.slots.grace_seconds)
      .set("containers", std::move(containers))
      .set("volumes", volumes(l));
}

JsonValue metadata(const Launch& l) {
  JsonValue out = object().set("name", dns_label(l.slots.name));
  if (!l.slots.k8s_namespace.empty()) out.set("namespace", l.slots.k8s_namespace);
  if (!l.slots.queue.empty())
    out.set("labels", object().set("kueue.x-k8s.io/queue-name", l.slots.queue));
  return out;
}

JsonValue root(const char* api, const char* kind, const Launch& l, JsonValue spec) {
  if (!l.slots.queue.empty() && std::string(kind) != "PyTorchJob" && std::string(kind) != "MPIJob")
    spec.set("suspend", true);  // Kueue admits it
  return object()
      .set("apiVersion", api)
      .set("kind", kind)
      .set("metadata", metadata(l))
      .set("spec", std::move(spec));
}

std::vector<std::string> torchrun(const Launch& l) {
  return {"torchrun", fmt::format("--nnodes={}", std::max(1, l.nodes())),
          fmt::format("--nproc-per-node={}", l.ranks_per_node())};
}

// The runtime's own pods have neither the shared memory that NCCL wants nor the claim
// (kubeflow.org/docs/components/trainer/operator-guides/podtemplate-overrides).
JsonValue train_job_volumes(const Launch& l) {
  JsonValue container = object().set("name", "node").set("volumeMounts", volume_mounts(l));
  JsonValue containers = JsonValue::array(), targets = JsonValue::array();
  containers.push_back(std::move(container));
  targets.push_back(object().set("name", "node"));
  JsonValue overrides = JsonValue::array();
  overrides.push_back(object()
                          .set("targetJobs", std::move(targets))
                          .set("spec", object()
                                           .set("containers", std::move(containers))
                                           .set("volumes", volumes(l))));
  return overrides;
}

JsonValue train_job(const Launch& l) {
  const bool pleat = l.trainer == Trainer::pleat;
  // The runtime's variables are meant for torchrun; Kubernetes puts them into the command.
  const std::vector<std::string> command =
      pleat ? pleat_words(l, {"--process", "$(PET_NODE_RANK)/$(PET_NNODES)", "--rendezvous",
                              "$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"})
            : joined({"torchrun"}, script_words(l));
  JsonValue trainer = object()
                          .set("numNodes", std::max(1, l.nodes()))
                          .set("numProcPerNode", pleat ? 1 : l.ranks_per_node())
                          .set("image", l.slots.image)
                          .set("command", list(command))
                          .set("env", environment(l));
  if (l.on_gpus) trainer.set("resourcesPerNode", gpus(l));
  return root("trainer.kubeflow.org/v1alpha1", "TrainJob", l,
              object()
                  .set("runtimeRef", object()
                                         .set("apiGroup", "trainer.kubeflow.org")
                                         .set("kind", "ClusterTrainingRuntime")
                                         .set("name", "torch-distributed"))
                  .set("trainer", std::move(trainer))
                  .set("podTemplateOverrides", train_job_volumes(l)));
}

// The operator sets MASTER_ADDR, RANK and kin for torchrun's PET_ variables.
JsonValue pytorch_job(const Launch& l) {
  const bool pleat = l.trainer == Trainer::pleat;
  const std::vector<std::string> command =
      pleat ? pleat_words(l, {}) : joined({"torchrun"}, script_words(l));
  const auto replica = [&](int count) {
    return object()
        .set("replicas", count)
        .set("restartPolicy", "OnFailure")
        .set("template", object().set("spec", pod(l, container(l, "pytorch", command, l.on_gpus))));
  };
  JsonValue replicas = object().set("Master", replica(1));
  if (l.nodes() > 1) replicas.set("Worker", replica(l.nodes() - 1));
  return root("kubeflow.org/v1", "PyTorchJob", l,
              object()
                  .set("nprocPerNode", pleat ? "1" : std::to_string(l.ranks_per_node()))
                  .set("runPolicy", object().set("cleanPodPolicy", "None"))
                  .set("pytorchReplicaSpecs", std::move(replicas)));
}

JsonValue job_set(const Launch& l) {
  const std::string name = dns_label(l.slots.name);
  std::vector<std::string> command = torchrun(l);
  command.push_back("--node-rank=$(JOB_COMPLETION_INDEX)");
  command.push_back(fmt::format("--master-addr={0}-workers-0-0.{0}", name));
  command.push_back("--master-port=29500");
  command = joined(command, script_words(l));
  const bool pleat = l.trainer == Trainer::pleat;
  if (pleat) {
    command = pleat_words(
        l, {"--process", fmt::format("$(JOB_COMPLETION_INDEX)/{}", std::max(1, l.nodes())),
            "--rendezvous", fmt::format("{0}-workers-0-0.{0}:29500", name)});
  }
  JsonValue worker = pod(l, container(l, "trainer", command, l.on_gpus));
  worker.set("restartPolicy", "Never");
  const int nodes = std::max(1, l.nodes());
  JsonValue job =
      object().set("spec", object()
                               .set("parallelism", nodes)
                               .set("completions", nodes)
                               .set("completionMode", "Indexed")
                               .set("backoffLimit", 0)
                               .set("template", object().set("spec", std::move(worker))));
  JsonValue replicated = JsonValue::array();
  replicated.push_back(
      object().set("name", "workers").set("replicas", 1).set("template", std::move(job)));
  return root("jobset.x-k8s.io/v1alpha2", "JobSet", l,
              object()
                  .set("failurePolicy", object().set("maxRestarts", 3))
                  .set("replicatedJobs", std::move(replicated)));
}

JsonValue mpi_job(const Launch& l) {
  std::vector<std::string> command{
      "mpirun",    "-np", std::to_string(l.gpus), "-N", std::to_string(l.ranks_per_node()),
      "--bind-to", "none"};
  for (const auto& [name, value] : job_environment(l)) {
    command.push_back("-x");
    command.push_back(name + "=" + literal(value));
  }
  const bool pleat = l.trainer == Trainer::pleat;
  if (pleat) {
    if (!l.on_gpus) command.emplace_back("--oversubscribe");
    command = joined(command, {"pleat", "train", "--resume"});
    for (const std::string& word : script_arguments(l)) command.push_back(literal(word));
  } else {
    command.push_back("-x");
    command.push_back(fmt::format("MASTER_ADDR={0}-worker-0.{0}", dns_label(l.slots.name)));
    command.push_back("-x");
    command.push_back("MASTER_PORT=29500");
    // Static text: the ranks' numbers from Open MPI's names to PyTorch's.
    for (const char* word :
         {"bash", "-c",
          "export RANK=\"$OMPI_COMM_WORLD_RANK\" LOCAL_RANK=\"$OMPI_COMM_WORLD_LOCAL_RANK\" "
          "WORLD_SIZE=\"$OMPI_COMM_WORLD_SIZE\"; exec python3 -u \"$@\"",
          "rank"})
      command.emplace_back(word);
    command = joined(command, script_words(l));
  }
  const auto replica = [&](int count, JsonValue spec) {
    return object().set("replicas", count).set("template", object().set("spec", std::move(spec)));
  };
  JsonValue replicas = object();
  replicas.set("Launcher", replica(1, pod(l, container(l, "launcher", command, false))));
  replicas.set("Worker",
               replica(std::max(1, l.nodes()),
                       pod(l, container(l, "worker", {"/usr/sbin/sshd", "-De"}, l.on_gpus))));
  return root(
      "kubeflow.org/v2beta1", "MPIJob", l,
      object()
          .set("slotsPerWorker", l.ranks_per_node())
          .set("mpiImplementation", "OpenMPI")
          .set("runPolicy", object().set("cleanPodPolicy", "Running").set("backoffLimit", 3))
          .set("mpiReplicaSpecs", std::move(replicas)));
}

JsonValue job(const Launch& l) {
  switch (l.slots.kind) {
    case JobKind::train_job:
      return train_job(l);
    case JobKind::pytorch_job:
      return pytorch_job(l);
    case JobKind::job_set:
      return job_set(l);
    case JobKind::mpi_job:
      return mpi_job(l);
  }
  return train_job(l);
}

}  // namespace

std::string kubernetes_text(const Launch& l) {
  if (l.slots.image.empty()) {
    throw_config_error(ExitCode::bad_request, "--image", "", "is required",
                       l.trainer == Trainer::pleat ? "the container that has Pleat"
                                                   : "the container that has Megatron-LM");
  }
  std::string text = fmt::format("# {}\n# for {} {}\n", one_line(l.title), l.exported.framework,
                                 l.exported.version);
  for (const Remark& r : l.exported.missing) {
    text += "# no counterpart: " + one_line(fmt::format("{} = {}: {}", r.field, r.value, r.text)) +
            "\n";
  }
  if (needs_secret(l)) {
    text += fmt::format(
        "# Once before the job, a secret by which its processes know each other:\n"
        "#   openssl rand -hex 32 | kubectl {}create secret generic {} "
        "--from-file=secret=/dev/stdin\n",
        l.slots.k8s_namespace.empty() ? "" : fmt::format("-n {} ", l.slots.k8s_namespace),
        secret_name(l));
  }
  return text + to_yaml(job(l));
}

}  // namespace pleat::interop
