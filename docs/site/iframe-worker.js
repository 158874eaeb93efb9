// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A page that is opened as a file may not start a Worker. Then a hidden frame does its work, so that the
// search of the site works without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      // Scripts of the worker are put into the frame one after the other; its answers come as messages.
      this.inside.importScripts = (...urls) => urls.reduce((before, next) => before.then(() => this.load(next)),
                                                           Promise.resolve());
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = () => failed(new Error(url));
        this.inside.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data})));
    }

    terminate() {}
  };
}
