import CSystem
import Glibc
import HTTPServer
import HTTPWire

/// Settings of the probe, as `name=value`. Times are in milliseconds.
enum ProbeSettings {
    struct Unknown: Error {
        let argument: String
    }

    static func apply(
        _ arguments: some Sequence<String>, to configuration: inout HTTPServerConfiguration, drain: inout Duration
    ) throws {
        var listeners: [ListenerConfiguration] = []
        for argument in arguments {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw Unknown(argument: argument) }
            if ["listen", "listenToProxies"].contains(parts[0]) {
                guard let address = ListenerAddress(parsing: parts[1]) else { throw Unknown(argument: argument) }
                listeners.append(
                    ListenerConfiguration(address, proxyHeader: parts[0] == "listenToProxies" ? .two : nil))
                continue
            }
            if parts[0] == "trusted" {
                guard let proxies = TrustedProxies([parts[1]]) else { throw Unknown(argument: argument) }
                configuration.trustedProxies = proxies
                continue
            }
            guard let number = Int(parts[1]) else { throw Unknown(argument: argument) }
            let time = Duration.milliseconds(number)
            switch parts[0] {
            case "loops": configuration.eventLoops = number
            case "maxBody": configuration.maxBodyBytes = number
            case "maxTotalBody": configuration.maxTotalBodyBytes = number
            case "maxConnections": configuration.maxConnections = number
            case "reservedConnections": configuration.reservedConnections = number
            case "maxRequests": configuration.maxRequestsPerConnection = number
            case "headerTimeout": configuration.headerTimeout = time
            case "idleTimeout": configuration.idleTimeout = time
            case "bodyGrace": configuration.bodyGrace = time
            case "minBodyRate": configuration.minBodyRate = number
            case "maxTotalAnswers": configuration.maxTotalAnswerBytes = number
            case "bodyTimeout": configuration.bodyTimeout = time
            case "bodyBudgetTimeout": configuration.bodyBudgetTimeout = time
            case "bodyMemoryTimeout": configuration.bodyMemoryTimeout = time
            case "writeTimeout": configuration.writeTimeout = time
            case "lingerTimeout": configuration.lingerTimeout = time
            case "probesHalfClosed": configuration.probesHalfClosed = number != 0
            case "sendBuffer": configuration.sendBufferBytes = number
            case "maxRequestLine": configuration.wireLimits.requestLineBytes = number
            case "maxHeader": configuration.wireLimits.headerBytes = number
            case "readAhead": configuration.maxReadAheadBytes = number
            case "backlog": configuration.backlog = number
            case "drain": drain = time
            case "descriptors":
                var limit = rlimit(rlim_cur: rlim_t(number), rlim_max: rlim_t(number))
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            default: throw Unknown(argument: argument)
            }
        }
        if !listeners.isEmpty { configuration.listeners = listeners }
    }
}
