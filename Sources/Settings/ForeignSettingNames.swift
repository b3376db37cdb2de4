/// The names of settings in other servers, which users try first.
package enum ForeignSettingNames {
    /// The equivalent of another server's setting; nil if no server has that name.
    /// - Parameter name: a flag, a variable without its prefix, or a key, in any case: `--http-port`, `PORT`,
    ///   `model_store`.
    package static func setting(for name: String) -> Setting? {
        let name = name.lowercased().drop { $0 == "-" }.map { $0 == "-" ? "_" : String($0) }.joined()
        return names.first { $0.elsewhere.contains(name) }.flatMap { SettingsTable.setting(named: $0.here) }
    }

    package static let names: [(here: String, elsewhere: Set<String>)] = [
        (
            "listen",
            [
                "port", "p", "http_port", "rest_port", "rest_api_port", "host", "bind", "b", "address", "addr",
                "http_address",
                "rest_bind_address", "interface",
            ]
        ),
        (
            "models",
            [
                "model_repository", "model_repository_path", "model_store", "model_dir", "models_dir", "model_path",
                "models_path",
                "model_base_path", "m",
            ]
        ),
        ("threads", ["workers", "num_workers", "w"]),
        ("deadline", ["timeout", "request_timeout"]),
        ("max_batch", ["max_batch_size", "batch_size"]),
        ("max_body", ["max_body_size", "max_request_size", "max_upload_size", "client_max_body_size"]),
        ("log_level", ["verbose", "debug", "loglevel"]),
        ("tokens_file", ["token", "tokens", "api_key", "auth_token"]),
    ]
}
