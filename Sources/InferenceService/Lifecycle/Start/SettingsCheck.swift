internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Repository
internal import ServiceCore
internal import ServicePlanning
package import Settings
package import SystemSupport

/// Checks values that are well-formed: addresses, names, conditions.
extension Settings {
    /// Checks the settings.
    /// - Throws: one error with all problems.
    package func check() throws(CommandError) {
        var problems: [String] = []
        do throws(CommandError) { try checkModels() } catch { problems.append(error.description) }
        do throws(CommandError) {
            _ = try ListenPlan(listen, passed: SystemdSockets(environment: [:], processID: 0))
        } catch {
            problems.append(error.description)
        }
        do throws(CommandError) {
            _ = try TrustedProxies.configured(by: self)
        } catch {
            problems.append(error.description)
        }
        guard problems.isEmpty else {
            throw CommandError(problems.joined(separator: "\nocelli: "), isConfiguration: true)
        }
    }

    /// Checks the settings of models and predictions.
    /// - Throws: one error with all problems.
    func checkModels() throws(CommandError) {
        var problems = model.filter { NamedModel(parsing: $0) == nil }.map {
            "\"\($0)\" (model): expected NAME=PATH, where NAME has no spaces or slashes, or a path with a slash"
        }
        let named = Dictionary(grouping: model.compactMap { NamedModel(parsing: $0) }, by: \.name)
        for (name, places) in named.sorted(by: { $0.key < $1.key }) where places.count > 1 {
            problems.append(
                "the model name \"\(name)\" is given to \(places.map(\.path).joined(separator: " and to ")) (model)")
        }
        if deadline > maxDeadline {
            problems.append(
                "deadline is \(Units.duration(deadline)), more than max_deadline, \(Units.duration(maxDeadline)): shorten deadline, or "
                    + "raise max_deadline")
        }
        if let problem = CORSPolicy.problem(with: corsOrigins) { problems.append(problem) }
        if ReadyCondition(readyWhen) == nil {
            problems.append("\"all\" and \"any\" cannot be combined with other values (ready_when)")
        }
        guard problems.isEmpty else { throw CommandError(problems.joined(separator: "; "), isConfiguration: true) }
    }
}

extension TrustedProxies {
    /// The trusted proxies of some settings.
    static func configured(by settings: Settings) throws(CommandError) -> TrustedProxies {
        let wrong = settings.trustedProxies.filter { TrustedProxies([$0]) == nil }
        guard wrong.isEmpty, let proxies = TrustedProxies(settings.trustedProxies) else {
            throw CommandError(
                "\(wrong.map { "\"\($0)\"" }.joined(separator: ", ")): expected an address, a network such as 10.0.0.0/8, or "
                    + "unix (trusted_proxies)", isConfiguration: true)
        }
        return proxies
    }
}
