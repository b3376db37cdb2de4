/// The one table of settings: defaults, flags, variables, `--help`, config/ocelli.json5 and docs/settings.md come from it.
package enum SettingsTable {
    /// Settings that belong together.
    package struct Group: Sendable {
        package let title: String
        package let settings: [Setting]
    }

    /// All groups, in the order that a reader meets them.
    package static let groups = [serving, running, flow, pictures, http, operation, access]

    /// All settings.
    package static let all = groups.flatMap(\.settings)

    /// The setting of a name.
    package static func setting(named name: String) -> Setting? { all.first { $0.name == name } }

    static let serving = Group(
        title: "What is served, and where",
        settings: [
            .strings(
                "listen", \.listen,
                "Addresses to listen on: \"HOST:PORT\", \"[IPV6]:PORT\", \":PORT\" for all interfaces, \"unix:PATH\" or "
                    + "\"unix:PATH?mode=0660&owner=USER:GROUP\" for a Unix-domain socket, \"systemd\" for sockets passed by socket activation. "
                    + "Passed sockets take the place of these addresses unless \"systemd\" is among them. Under the packaged unit only this "
                    + "machine may connect: `systemctl edit ocelli` with IPAddressAllow= of who else may (docs/operations.md)."
            )
            .needingRestart,
            .strings(
                "models", \.models,
                "Folders with models: each entry a bundle (a folder with model.json), a folder of numbered versions, or a "
                    + "bare model file or SavedModel. Empty serves the models that came with Ocelli."),
            .string(
                "default_model", \.defaultModel,
                "The model that /v1/classify means. Empty means the only classifier, or the first by name."),
            .choice(
                "load", \.load,
                "When models are loaded whose bundle does not say: at start, or when first asked for."
            )
            .needingRestart,
            .choice(
                "repository_control", \.repositoryControl,
                "Who may load and unload models by POST /v2/repository/models/NAME/load and .../unload: clients on this "
                    + "machine (the loopback addresses and Unix-domain sockets, but neither what a proxy forwards nor what a web "
                    + "page of another origin sends), all, or nobody."),
            .duration(
                "repository_poll", \.repositoryPoll, 0...86_400,
                "How often the folders with models are looked at: new and changed models are then loaded and those that are "
                    + "gone dropped, once their files have stayed the same from one look to the next. 0 looks only when asked "
                    + "(SIGHUP)."
            )
            .needingRestart,
            .integer("top", \.top, 1...100_000, "How many classes an answer tells when the request does not say."),
        ])

    static let running = Group(
        title: "How models run",
        settings: [
            .string("device", \.device, "The engine's device: CPU, AUTO, or another that `ocelli devices` lists."),
            .choice(
                "hint", \.hint,
                "What the engine is to be good at: many predictions a second, or the shortest time of one."),
            .choice(
                "precision", \.precision,
                "Precision of the arithmetic. f32 gives the same scores on every machine; bf16 and f16 count where the processor has "
                    + "them (`ocelli devices`), elsewhere f32 does; engine takes what is fastest here."
            ),
            .automatic(
                "threads", \.threads, 1...1024,
                "The engine's worker threads. auto: the processors that this process may use."),
            .automatic(
                "streams", \.streams, 1...1024,
                "Predictions that the engine runs side by side. auto: one a thread up to four; one with the latency hint."
            ),
            .automatic(
                "instances", \.instances, 1...1024, "Infer requests per model. auto: what the engine thinks best."),
            .string(
                "cache_dir", \.cacheDirectory,
                "Where compiled models are kept, so that the next start is quick. auto: $CACHE_DIRECTORY (systemd), else "
                    + "$XDG_CACHE_HOME/ocelli or ~/.cache/ocelli. Empty keeps none."),
            .bytes(
                "cache_size", \.cacheSize, 0...(1 << 40),
                "How much of compiled models is kept; past it the ones used longest ago are removed, at start and after each "
                    + "reload."),
            .duration(
                "idle_unload", \.idleUnload, 0...31_536_000,
                "How long a model that is loaded when first asked for is kept when nobody asks it any more. 0 keeps it."
            )
            .needingRestart,
            .integer(
                "max_loads", \.maxLoads, 1...1024,
                "Models that are loaded at once; the others wait for their turn, and requests for them until their deadline. Each "
                    + "may take all processors, and the memory of load_trial_memory."),
            .bool(
                "external_links", \.externalLinks,
                "Whether links in the folders of models may lead out of them. Without it a model with such a link is refused, so "
                    + "that who writes a bundle cannot have other files of this machine served."),
            .bool(
                "load_trial", \.loadTrial,
                "Whether models that have not been loaded here before are first loaded in a process of its own: some files "
                    + "that are no whole models crash the engine, or never come back. What went well is remembered in cache_dir."
            ),
            .duration("load_trial_timeout", \.loadTrialTimeout, 0.1...86_400, "How long that process may take."),
            .automaticBytes(
                "load_trial_memory", \.loadTrialMemory, (16 << 20)...(1 << 42),
                "The memory that it may take. auto: three quarters of what the daemon may use."),
        ])

    static let flow = Group(
        title: "Flow control",
        settings: [
            .automatic(
                "max_in_flight", \.maxInFlight, 1...65_536,
                "Requests per model that hold a decoded picture at once. auto: the model's instances and half as many more."
            ),
            .integer("queue_length", \.queueLength, 0...1_000_000, "Requests per model that may wait for their turn."),
            .duration("queue_wait", \.queueWait, 0.001...3600, "How long a request may wait for its turn."),
            .choice(
                "overload_policy", \.overloadPolicy,
                "What happens when a model is busy: requests wait; or new ones are refused at once; or the one that has "
                    + "waited longest is refused (for cameras, where a stale picture has no worth)."),
            .duration(
                "overload_target", \.overloadTarget, 0...3600,
                "The time within which a request must be answered, by prediction, to be admitted under overload: when the queue "
                    + "stays full and more requests come than are answered. The others get 503 at once. Only for "
                    + "overload_policy defer; 0 leaves the queue to queue_length and queue_wait. See docs/overload.md."),
            .duration(
                "deadline", \.deadline, 0.001...86_400, "How long a request may take in all when it does not say."),
            .duration(
                "max_deadline", \.maxDeadline, 0.001...86_400, "The longest timeout_ms that a request may ask for."),
        ])

    static let pictures = Group(
        title: "Pictures",
        settings: [
            .integer(
                "max_pixels", \.maxPixels, 1...1_000_000_000,
                "Pixels (width times height) of the largest picture; judged from its header, before anything is decoded."
            ),
            .integer("max_batch", \.maxBatch, 1...10_000, "Pictures of one multipart request."),
            .bool(
                "tolerate_truncated", \.tolerateTruncated,
                "Whether a picture whose end is missing is classified by what there is, instead of refused."),
        ])

    static let http = Group(
        title: "HTTP",
        settings: [
            .bytes("max_body", \.maxBody, 1...(4 << 30), "The largest body of a request.")
                .needingRestart,
            .automaticBytes(
                "max_total_body", \.maxTotalBody, 1...(1 << 40),
                "Memory of all bodies that are being received or held at once. Past it sockets are not read, and the bodies that "
                    + "arrive most slowly are refused (408). auto: 256MiB, or an eighth of the memory that this process may "
                    + "use if that is less."
            )
            .needingRestart,
            .automaticBytes(
                "max_total_answers", \.maxTotalAnswers, 1...(1 << 40),
                "Memory of all answers that their clients have not taken yet. Past it the connections are closed that have taken "
                    + "nothing for longest. auto: a quarter of max_total_body."
            )
            .needingRestart,
            .bytes("max_request_line", \.maxRequestLine, 64...(1 << 20), "The longest request line.")
                .needingRestart,
            .bytes("max_header", \.maxHeader, 256...(1 << 20), "The largest header block.")
                .needingRestart,
            .integer("max_header_fields", \.maxHeaderFields, 1...10_000, "The most header fields.")
                .needingRestart,
            .duration(
                "header_timeout", \.headerTimeout, 0.01...3600, "How long a client may take to send a header block."
            )
            .needingRestart,
            .bytes(
                "min_body_rate", \.minBodyRate, 0...(1 << 30),
                "Bytes a second that a client must send of its body at least."
            )
            .needingRestart,
            .duration(
                "body_timeout", \.bodyTimeout, 0.01...86_400,
                "How long a client may take to send a body, the time not counted in which the server does not read it."
            )
            .needingRestart,
            .duration("body_grace", \.bodyGrace, 0.01...3600, "How long a body may be slower than min_body_rate.")
                .needingRestart,
            .duration(
                "idle_timeout", \.idleTimeout, 0.01...86_400, "How long a connection is kept that asks for nothing."
            )
            .needingRestart,
            .duration(
                "write_timeout", \.writeTimeout, 0.01...3600, "How long a client may take no byte of its answer."
            )
            .needingRestart,
            .integer(
                "max_connections", \.maxConnections, 1...1_000_000,
                "Connections at once, in equal shares for the event_loops. Past it connections are closed for new ones: idle "
                    + "ones first, then those that send a head or a body, or take an answer, most slowly."
            )
            .needingRestart,
            .integer(
                "max_requests_per_connection", \.maxRequestsPerConnection, 1...1_000_000_000,
                "Requests after which a connection is closed, so that balancers can spread clients anew."
            )
            .needingRestart,
            .integer(
                "event_loops", \.eventLoops, 1...64,
                "Threads that do the network's work. One serves tens of thousands of requests a second."
            )
            .needingRestart,
        ])

    static let operation = Group(
        title: "Operation",
        settings: [
            .duration(
                "drain_delay", \.drainDelay, 0...3600,
                "After SIGTERM: how long /readyz says 503 while requests are still accepted, so that balancers notice."),
            .duration(
                "drain_timeout", \.drainTimeout, 0...3600, "After that: how long requests under way may take to finish."
            ),
            .choice(
                "log_format", \.logFormat,
                "Log lines for people (with journald's priorities), or JSON objects."),
            .choice(
                "log_level", \.logLevel,
                "The least important lines that are logged."),
            .bool("access_log", \.accessLog, "Whether each request is logged."),
            .bool("log_top_label", \.logTopLabel, "Whether a request's line tells the best class of its picture."),
        ])

    static let access = Group(
        title: "Access",
        settings: [
            .string(
                "tokens_file", \.tokensFile,
                "A file of bearer tokens: in each line the classes of routes that a token opens (infer, read, admin, or all; "
                    + "with commas between them), a space, and the token. Empty asks for none. /healthz, /readyz and the page are "
                    + "always open. Read anew on SIGHUP."),
            .strings(
                "host_names", \.hostNames,
                "Names of this machine, beside localhost and its addresses, that clients on it may use where repository_control is "
                    + "local: a request for another name is refused, since a web page can have any name lead to this machine."
            ),
        ])
}
