# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Pleat on Debian 12, for CPUs: docker build -t pleat . && docker run --rm pleat models
# Files of yours: docker run --rm -v "$PWD:/work" pleat plan --model my-moe/config.json ...
FROM debian:12 AS build
COPY . /source
WORKDIR /source
RUN ./pleat.sh setup \
 && ./pleat.sh build \
 && cmake --install build --prefix /opt/pleat --strip \
 && if [ -e build/share/plotly.min.js ]; then cp build/share/plotly.min.js /opt/pleat/share/pleat/; fi

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    bible-kjv libfmt9 libicu72 libmimalloc2.0 libopenmpi3 libpcre2-8-0 libsodium23 libsqlite3-0 libxxhash0 \
    libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/pleat /opt/pleat
RUN useradd --create-home --uid 1000 pleat && mkdir /work && chown pleat /work
USER 1000
WORKDIR /work
ENV PATH=/opt/pleat/bin:$PATH
ENTRYPOINT ["pleat"]
CMD ["--help"]
