/// The format of log lines.
package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// The importance of a log line.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
    case debug, info, notice, warning, error

    /// Syslog's number: the smaller, the more important.
    package var priority: Int {
        switch self {
        case .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        }
    }

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.priority > b.priority }
}
