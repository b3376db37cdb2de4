/// The table of settings, from which defaults, flags, variables, `--help`, config/ocelli.json5 and docs/settings.md are
/// generated.
package enum SettingsTable {
    /// Related settings.
    package struct Group: Sendable {
        package let title: String
        package let settings: [Setting]
    }

    /// All groups, in the order of the documents.
    package static let groups = [serving, running, flow, pictures, teaching, keeping, http, operation, access]

    package static let all = groups.flatMap(\.settings)

    /// The setting with a name; nil if there is no such setting.
    package static func setting(named name: String) -> Setting? { all.first { $0.name == name } }

    static let serving = Group(
        title: "Models and addresses",
        settings: [
            .addresses(
                "listen", \.listen,
                "Addresses to listen on: \"HOST:PORT\", \"[IPV6]:PORT\", \":PORT\" for all interfaces, \"unix:PATH\" or "
                    + "\"unix:PATH?mode=0660&owner=USER:GROUP\" for a Unix-domain socket, \"systemd\" for sockets passed by socket activation. "
                    + "?routes=infer,read,admin,teach (any of them) limits an address to predictions, to models and metrics, to the "
                    + "model repository, or to teaching; health and readiness are served everywhere. ?proxy=v1 and ?proxy=v2 expect a PROXY "
                    + "protocol header of that version on each connection. "
                    + "Passed sockets replace these addresses unless \"systemd\" is among them. Under the packaged unit only this "
                    + "machine may connect: `systemctl edit ocelli` and set IPAddressAllow= for other clients (docs/operations.md)."
            )
            .needingRestart,
            .strings(
                "models", \.models,
                "Model folders. Each entry is a bundle (a folder with model.json), a folder of numbered "
                    + "versions, or a model file or SavedModel. One such entry in place of a folder serves that model only. "
                    + "Empty: the models that come with Ocelli."),
            .strings(
                "model", \.model,
                "Named models, each \"NAME=PATH\". PATH is a bundle, a model file, a folder that contains one of "
                    + "them, or a folder of numbered versions. If it does not exist yet, it is loaded when it appears "
                    + "(repository_poll). Without \"NAME=\" a model has the name of its file or folder; a folder needs a slash "
                    + "(./digits). NAME replaces a model of that name in `models`. If only `model` is set, no other "
                    + "models are served."),
            .strings(
                "ready_when", \.readyWhen,
                "When /readyz answers 200. \"all\": every model that is loaded at start is ready. \"any\": at least one model is "
                    + "ready. Otherwise, the names of the models that must be ready."),
            .string(
                "default_model", \.defaultModel,
                "The model for routes without a model name (/v1/classify, /v1/detect and similar). Empty: the only model for the "
                    + "task, or the first by name."),
            .choice(
                "load", \.load,
                "When to load models whose bundle does not set it: at start (eager), or at the first request "
                    + "(lazy)."
            )
            .needingRestart,
            .choice(
                "repository_control", \.repositoryControl,
                "Clients that may load and unload models by POST /v2/repository/models/NAME/load and .../unload, and that may teach, if tokens_file "
                    + "is not set. local: clients on this machine (by loopback or a Unix-domain socket, neither forwarded by a "
                    + "proxy nor sent by a web page of another origin)."),
            .automaticDuration(
                "repository_poll", \.repositoryPoll, 0...86_400,
                "How often to check the model folders. New and changed models are loaded, and removed ones "
                    + "are dropped, once their files have not changed between two checks. 0: check only on SIGHUP. "
                    + "auto: every second where `model` is set, else only on SIGHUP."
            )
            .needingRestart,
            .string(
                "state_dir", \.stateDirectory,
                "Folder for data that must survive restarts: the rollouts of models in folders that are not writable. auto: "
                    + "$STATE_DIRECTORY (systemd), else none. Empty: none."
            )
            .needingRestart,
            .bool(
                "keep_differences", \.keepDifferences,
                "Keep the pictures that the versions of a rollout answer most differently, ten of a model, in state_dir "
                    + "(differences/MODEL/DIGEST). They are pictures of clients."),
            .integer(
                "top", \.top, 1...100_000, "How many classes an answer contains when the request does not set `top`."),
        ])

    static let running = Group(
        title: "How models run",
        settings: [
            .choice(
                "engine", \.engine,
                "The engine that runs models. auto: OpenVINO, unless it cannot read an ONNX or TensorFlow Lite file or computes it wrongly, which is "
                    + "found out when the file is loaded for the first time (docs/operations.md, The engines). openvino: this one only. "
                    + "onnxruntime: this one for ONNX files. litert: this one for TensorFlow Lite files. Other files run as with auto."
            ),
            .string(
                "onnxruntime_path", \.onnxRuntimePath,
                "ONNX Runtime's library, or the folder that it is in, such as one of onnxruntime-gpu for NVIDIA's graphics processors. Empty: "
                    + "the library that comes with Ocelli (the package ocelli-onnxruntime)."
            )
            .needingRestart,
            .string(
                "litert_path", \.liteRTPath,
                "LiteRT's library, version 2.3.0, or the folder that it is in. Empty: the library that comes with Ocelli (the package "
                    + "ocelli-litert)."
            )
            .needingRestart,
            .choice(
                "unconfirmed", \.unconfirmed,
                "How a model is handled if no second engine or evaluation has confirmed its answers (docs/operations.md, The engines). serve: "
                    + "it serves, and the log warns once at each load. refuse: it fails to load, with the reason why it is not confirmed. Models that "
                    + "come with Ocelli always serve."),
            .string(
                "device", \.device,
                "The engine's device: CPU, AUTO, or another that `ocelli devices` lists. gpu:0 is an NVIDIA graphics processor (ONNX Runtime "
                    + "only); a model that cannot run there fails to load. \"gpu:0,cpu\": the first of them that the model can run on."
            ),
            .choice(
                "hint", \.hint, of: [.throughput, .latency],
                "The goal of the engine: many predictions a second (throughput), or a short time for a "
                    + "single one (latency)."),
            .choice(
                "precision", \.precision,
                "Precision of the arithmetic. f32 gives the same scores on every machine. bf16 and f16 apply where the processor "
                    + "supports them (`ocelli devices`), otherwise f32 is used. engine: whatever is fastest on this machine."
            ),
            .bool(
                "integer_weights", \.integerWeights,
                "Rewrite the 8-bit weights of older quantized TF Lite models at load, so that the engine computes in integers: "
                    + "the same sums in half the time. Only for the device CPU, on processors with VNNI."
            ),
            .automatic(
                "threads", \.threads, 1...1024,
                "Worker threads of the engine. auto: one per processor that this process may use; on several NUMA nodes, one per core."
            ),
            .automatic(
                "streams", \.streams, 1...1024,
                "Predictions that the engine runs in parallel. auto: one per thread, up to 16; with more than 32 threads, two threads each; "
                    + "on several NUMA nodes up to about four cores each, all of one node; one with the latency hint."
            ),
            .automatic(
                "lone_threads", \.loneThreads, 0...1024,
                "Threads for single-stream requests (one at a time). If this is more than other requests get, the model is compiled a second time "
                    + "for such requests, which takes about as much memory as the model. auto: as many as `threads`, at most the cores of one NUMA node, for models "
                    + "with an inference time of at least 1 ms, if that makes it at least a tenth faster. They are compiled after eight "
                    + "such requests in a row unless more than a quarter of the memory is in use, and released after ten minutes "
                    + "without use. A number: from the first request on, for every model. 0: never."
            ),
            .automatic(
                "instances", \.instances, 1...1024, "Infer requests per model. auto: as many as the engine recommends."),
            .string(
                "cache_dir", \.cacheDirectory,
                "Folder for compiled models, which makes later starts fast. auto: $CACHE_DIRECTORY (systemd), "
                    + "else $XDG_CACHE_HOME/ocelli or ~/.cache/ocelli. Empty: no cache."),
            .bytes(
                "cache_size", \.cacheSize, 0...(1 << 40),
                "Maximum size of cache_dir. At start and after each reload the least recently used compiled "
                    + "models are removed until the rest fits."),
            .bytes(
                "shape_cache", \.shapeCache, 0...(1 << 40),
                "Memory for OpenVINO's cache of input sizes, for each model whose shapes are open: repeated sizes are computed "
                    + "faster. It is taken from max_total_decode. 0: no cache."
            ),
            .duration(
                "idle_unload", \.idleUnload, 0...31_536_000,
                "Unload a lazy model after this time without requests. 0: never."
            )
            .needingRestart,
            .integer(
                "max_loads", \.maxLoads, 1...1024,
                "Maximum number of models that are loaded at the same time. Other models wait, and so do requests for them, until their deadlines. Each "
                    + "load may use all processors and load_trial_memory. Models that were loaded before come first, then small ones. Up to two "
                    + "loads that take longer than 5 s do not count, so that one that hangs does not hold up the others."
            ),
            .bool(
                "external_links", \.externalLinks,
                "Allow links inside a bundle that point outside the bundle and the model folders. By default a model with such "
                    + "a link is refused, so that an untrusted bundle cannot expose other files of this machine. An entry of a model "
                    + "folder may always be a link."),
            .bool(
                "load_trial", \.loadTrial,
                "Load a new model in a separate process first, because damaged files can crash the engine or make it "
                    + "hang. Results are cached in cache_dir."
            ),
            .duration(
                "load_trial_timeout", \.loadTrialTimeout, 0.1...86_400,
                "Maximum time of a model's load check (load_trial). The first load check of a model also compiles it for one stream, to compare "
                    + "the answers."),
            .automaticBytes(
                "load_trial_memory", \.loadTrialMemory, (16 << 20)...(1 << 42),
                "Maximum memory of a model's load check (load_trial). auto: three quarters of the memory that the daemon "
                    + "may use."),
        ])

    static let flow = Group(
        title: "Flow control",
        settings: [
            .automatic(
                "max_in_flight", \.maxInFlight, 1...65_536,
                "Requests per model that hold a decoded picture at the same time. auto: one and a half times "
                    + "instances."
            ),
            .integer("queue_length", \.queueLength, 0...1_000_000, "Requests per model that may wait in the queue."),
            .duration("queue_wait", \.queueWait, 0.001...3600, "Maximum time of a request in the queue."),
            .choice(
                "overload_policy", \.overloadPolicy,
                "How a request is handled when its model is busy. defer: it waits. drop_newest: it is "
                    + "refused at once. drop_oldest: it waits, and the oldest request in the queue is refused (for "
                    + "cameras, where an old frame is worthless)."),
            .duration(
                "overload_target", \.overloadTarget, 0...3600,
                "Under overload (the queue stays full and more requests arrive than are answered), a request is admitted only if "
                    + "its predicted time until the answer is at most this; the others get 503 at once. Only for "
                    + "overload_policy defer. 0: only queue_length and queue_wait limit the queue. See docs/overload.md."
            ),
            .integer(
                "client_in_flight", \.clientInFlight, 0...1_000_000,
                "Predictions that one client may have in flight; more get 429. A client is an address (of IPv6 a /64 network; behind "
                    + "trusted_proxies the one that they name), or a token where tokens_file is set. 0: no limit. Slots are "
                    + "shared fairly among clients without it."),
            .integer(
                "client_rate", \.clientRate, 0...1_000_000,
                "Predictions per second that one client (as for client_in_flight) may send, or a second's worth at once; more get "
                    + "429. 0: no limit."),
            .bytes(
                "answer_cache", \.answerCache, 0...(1 << 40),
                "Memory for cached answers to equal requests of the same client (docs/http-api.md, Answers that are "
                    + "known already). 0: no answer is cached; concurrent equal requests still share one prediction."
            ),
            .duration(
                "answer_cache_age", \.answerCacheAge, 0.001...86_400,
                "Maximum age of a cached answer."),
            .bytes(
                "text_cache", \.textCache, 0...(1 << 40),
                "Memory for the vectors of texts and labels that were embedded lately, of all models (docs/words.md). 0: none is "
                    + "kept."),
            .duration(
                "deadline", \.deadline, 0.001...86_400,
                "Maximum time of a request, when the request does not set timeout_ms."),
            .duration(
                "max_deadline", \.maxDeadline, 0.001...86_400, "Maximum value of timeout_ms in a request."),
        ])

    static let pictures = Group(
        title: "Pictures",
        settings: [
            .integer(
                "max_pixels", \.maxPixels, 1...1_000_000_000,
                "Maximum size of a picture in pixels (width times height), read from its header before it is "
                    + "decoded."
            ),
            .automaticBytes(
                "max_total_decode", \.maxTotalDecode, 1...(1 << 40),
                "Memory for all pictures that are being decoded, of all models together. At the limit requests wait for the "
                    + "pictures before them; a picture that needs more than this gets 413. auto: half of the memory that this "
                    + "process may use."),
            .choices(
                "picture_formats", \.pictureFormats,
                "Formats of pictures that are decoded; others get 415. heic, avif, tiff, gif, bmp and jxl are decoded in separate "
                    + "processes, and most of them need a library (docs/http-api.md, Picture formats). raw: frames without a header."
            ),
            .integer("max_batch", \.maxBatch, 1...10_000, "Maximum number of pictures, or items, in one request."),
            .integer(
                "max_crops", \.maxCrops, 1...10_000,
                "Maximum number of crops that the stages of a pipeline look at in one request. Finds beyond are answered without "
                    + "stages, the least confident first, and counted (\"skipped\"). The pictures of a form have equal parts of it."
            ),
            .integer(
                "max_lines", \.maxLines, 1...10_000,
                "Maximum number of lines of text that are read in one picture. The least confident regions beyond are left out and "
                    + "counted (\"skipped\")."),
            .bytes(
                "max_text", \.maxText, 1...(8 << 20),
                "Maximum size of a text to embed, in UTF-8. A model reads only the part that its longest text has room for."
            ),
            .bool(
                "tolerate_truncated", \.tolerateTruncated,
                "Classify truncated pictures by the part that arrived, instead of refusing them."),
        ])

    static let teaching = Group(
        title: "Taught models",
        settings: [
            .string(
                "taught_dir", \.taughtDirectory,
                "Folder for models that clients teach (docs/teach.md), and for updated versions of Core ML models. It is created if need be, "
                    + "belongs to one daemon at a time, and must not be in a model folder. Empty: nothing can be taught."
            )
            .needingRestart,
            .bool(
                "taught_keep_pictures", \.taughtKeepPictures,
                "Keep the pictures of examples, so that a taught model is rebuilt when its embedder changes. By default only their "
                    + "embeddings and digests are kept."),
            .integer(
                "taught_keep_versions", \.taughtKeepVersions, 1...1000,
                "Versions of each taught model that are kept, to go back to. Older ones are dropped with the next change."
            ),
            .integer(
                "taught_max_models", \.taughtMaxModels, 1...10_000,
                "Maximum number of taught models. More get 507."),
            .integer(
                "taught_max_classes", \.taughtMaxClasses, 1...100_000,
                "Maximum number of classes of a taught model. More get 507."),
            .integer(
                "taught_max_examples", \.taughtMaxExamples, 1...10_000_000,
                "Maximum number of examples of a taught model. More get 507."),
            .integer(
                "taught_max_patches", \.taughtMaxPatches, 1...10_000_000,
                "Maximum number of patches of normal pictures with which a taught model compares those of a picture. Of more, those "
                    + "that are farthest from each other are chosen, in the background."),
            .bytes(
                "taught_max_bytes", \.taughtMaxBytes, 1024...(1 << 42),
                "Maximum size of the files of all taught models together. A change that needs more gets 507."),
        ])

    static let keeping = Group(
        title: "Kept pictures",
        settings: [
            .string(
                "keep_dir", \.keepDirectory,
                "Folder for pictures that classifiers were not sure of, to be looked at and taught (docs/teach.md). It is created if need "
                    + "be, belongs to one daemon at a time, and must not be in a model folder. Empty: no picture is kept."
            )
            .needingRestart,
            .number(
                "keep_margin", \.keepMargin, 0...1,
                "A picture is kept as uncertain if the confidences of its first two classes differ by less than this."),
            .bytes(
                "keep_bytes", \.keepBytes, 1024...(1 << 42),
                "Maximum size of the files of all kept pictures together. The oldest make room for new ones."),
            .integer("keep_days", \.keepDays, 1...36_500, "Days after which a kept picture is deleted."),
            .integer("keep_rate", \.keepRate, 0...100_000, "Maximum number of pictures that are kept in any minute."),
        ])

    static let http = Group(
        title: "HTTP",
        settings: [
            .bytes("max_body", \.maxBody, 1...(4 << 30), "Maximum size of a request body."),
            .automaticBytes(
                "max_total_body", \.maxTotalBody, 1...(1 << 40),
                "Memory for all request bodies that are being received or held. At the limit the server stops "
                    + "reading from sockets and refuses the slowest bodies (408). auto: 256MiB, or an eighth of the "
                    + "memory that this process may use, whichever is less."),
            .automaticBytes(
                "max_total_answers", \.maxTotalAnswers, 1...(1 << 40),
                "Memory for all answers that clients have not read yet, including the bytes that the kernel holds for them. At "
                    + "the limit the connections that have made no progress for longest are reset. auto: a quarter of max_total_body."
            ),
            .bytes("max_request_line", \.maxRequestLine, 64...(1 << 20), "Maximum length of a request line.")
                .needingRestart,
            .bytes("max_header", \.maxHeader, 256...(1 << 20), "Maximum size of the header fields of a request.")
                .needingRestart,
            .integer(
                "max_header_fields", \.maxHeaderFields, 1...10_000, "Maximum number of header fields in a request."
            )
            .needingRestart,
            .duration(
                "header_timeout", \.headerTimeout, 0.01...3600, "Maximum time to receive the header of a request."
            )
            .needingRestart,
            .bytes(
                "min_body_rate", \.minBodyRate, 0...(1 << 30),
                "Minimum rate, in bytes a second, at which a client must send a body."
            )
            .needingRestart,
            .duration(
                "body_timeout", \.bodyTimeout, 0.01...86_400,
                "Maximum time to receive a body. Time during which the server does not read from the socket does not count."
            )
            .needingRestart,
            .duration(
                "body_grace", \.bodyGrace, 0.01...3600, "How long a body may be slower than min_body_rate."
            )
            .needingRestart,
            .duration(
                "idle_timeout", \.idleTimeout, 0.01...86_400, "Close a connection after this time without a request."
            )
            .needingRestart,
            .duration(
                "write_timeout", \.writeTimeout, 0.01...3600,
                "Reset a connection if its client does not read its answer for this time."
            )
            .needingRestart,
            .bool(
                "probe_half_closed", \.probeHalfClosed,
                "Send a client that has closed its sending side while its HTTP/1.1 request runs one interim response, 102 "
                    + "(Processing): if the client has gone, this fails, and its request is cancelled. HTTP/1.0 clients are sent "
                    + "nothing, and count as gone. Some clients take the interim response for the answer (Python's http.client): if "
                    + "false, nothing is sent, and a client that has closed its sending side counts as connected."
            )
            .needingRestart,
            .integer(
                "max_connections", \.maxConnections, 1...1_000_000,
                "Maximum number of connections, shared equally between event_loops. At the limit connections "
                    + "are closed for new ones: idle ones first, then those that make the slowest progress. Where none can be closed, "
                    + "4096 more are accepted for each event loop, or fewer if the process may open few files. Probes of health are "
                    + "answered there, other requests wait there, and the oldest of them gets 503 for a new one."),
            .integer(
                "max_requests_per_connection", \.maxRequestsPerConnection, 1...1_000_000_000,
                "Close a connection after this many requests, so that load balancers can redistribute "
                    + "clients."
            )
            .needingRestart,
            .automatic(
                "event_loops", \.eventLoops, 1...64,
                "Threads for network I/O. One serves tens of thousands of requests a second. auto: one for every 16 processors that this "
                    + "process may use, at least one."
            )
            .needingRestart,
        ])

    static let operation = Group(
        title: "Operation",
        settings: [
            .duration(
                "drain_delay", \.drainDelay, 0...3600,
                "After SIGTERM: how long /readyz answers 503 while requests are still accepted, so that load "
                    + "balancers notice."),
            .duration(
                "drain_timeout", \.drainTimeout, 0...3600,
                "After drain_delay: how long requests in progress may take to finish. If the variable OCELLI_GRACE gives the time from "
                    + "SIGTERM to SIGKILL, `ocelli serve` warns if it is shorter than the two together."
            ),
            .choice(
                "log_format", \.logFormat,
                "text: readable lines (with priorities under journald). json: one JSON object per line."),
            .choice(
                "log_level", \.logLevel,
                "Minimum level of lines that are logged."),
            .bool(
                "load_reports", \.loadReports,
                "Add the ORCA header endpoint-load-metrics to answers: application_utilization is the share of the busiest model's "
                    + "slots (max_in_flight) that requests hold or wait for; more than 1 if some wait."),
            .bool("access_log", \.accessLog, "Log each request."),
            .bool("log_top_label", \.logTopLabel, "Add the best class to the log line of a classification."),
            .bool(
                "drift", \.drift,
                "Watch whether the pictures of models, and the answers, are still like the first ones: GET /v1/models/NAME/drift "
                    + "(docs/trust.md). `runtime.drift` of a model.json takes precedence. The reference is kept in state_dir."
            ),
            .duration(
                "drift_every", \.driftEvery, 0...3600,
                "At most one picture in this time of each token or address counts for `drift`, because pictures of one camera in a row "
                    + "are not independent. 0: all count."),
            .integer(
                "drift_pictures", \.driftPictures, 1_000...1_000_000_000_000,
                "How many pictures without a change `drift` counts on average, or more, until it reports one by mistake."
            ),
            .integer(
                "drift_reference", \.driftReference, 100...1_000_000,
                "How many of a model's first pictures are the reference of `drift`."),
        ])

    static let access = Group(
        title: "Access",
        settings: [
            .string(
                "tokens_file", \.tokensFile,
                "A file of bearer tokens. Each line has the classes of routes that a token grants (infer, read, admin, teach, or all, "
                    + "separated by commas), a space, and the token. Empty: no token is required. /healthz, /readyz and the page are "
                    + "always open. SIGHUP reloads the file."),
            .strings(
                "trusted_proxies", \.trustedProxies,
                "Proxies that are trusted to name the client in Forwarded, X-Forwarded-For or the PROXY protocol: addresses, networks "
                    + "such as 10.0.0.0/8, and unix for Unix-domain sockets. The client in the log is the last address that is not a "
                    + "trusted proxy; these fields are ignored in requests from other addresses."
            )
            .needingRestart,
            .strings(
                "host_names", \.hostNames,
                "Names of this machine, in addition to localhost and its addresses, that local clients may use if repository_control "
                    + "is local. A request for another name is refused, because a web page can resolve any name to this machine."
            ),
            .strings(
                "cors_origins", \.corsOrigins,
                "Origins of web pages that may send predictions and read about models (CORS), such as https://app.example; * allows "
                    + "every page. Empty: only Ocelli's own pages. Routes that change something are never allowed."),
            .choices(
                "dialects", \.dialects, atLeast: 0,
                "Interfaces of other servers that are served too, for their clients (docs/clients.md): tfserving (TensorFlow Serving and "
                    + "KServe, version 1), sagemaker (/ping, /invocations), vertex (Vertex AI's AIP_ variables), deepstack "
                    + "(DeepStack and CodeProject.AI), openai (/v1/embeddings), labelstudio (Label Studio's machine-learning back end)."
            ),
            .string(
                "labelstudio_files", \.labelStudioFiles,
                "Folder with the pictures that Label Studio's tasks name as /data/local-files/?d=PATH: the one that Label Studio's "
                    + "LOCAL_FILES_DOCUMENT_ROOT names. Only files in it are read, links that lead out of it are not followed. Empty: none "
                    + "are read."),
        ])
}

extension SettingsTable {
    /// The new settings with the old values of those that need a restart, and the names of those that differ.
    package static func merge(_ new: Settings, into old: Settings) -> (settings: Settings, ignored: [String]) {
        var settings = new
        var ignored: [String] = []
        for setting in all where setting.needsRestart {
            let kept = setting.get(old)
            guard setting.get(new) != kept else { continue }
            setting.set(&settings, kept)
            ignored.append(setting.name)
        }
        return (settings, ignored)
    }
}
