/// The format of log lines.
package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}
