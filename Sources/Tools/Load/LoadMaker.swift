internal import FlowControl
internal import FoundationEssentials
internal import LoadGenerator
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Puts a server under load and measures its answers: `ocelli load`.
package struct LoadMaker: Sendable {
    private let request: LoadRequest
    private let settings: Settings
    private let progress: @Sendable (String) -> Void

    /// Measures, and writes the requested files.
    /// - Returns: the text for standard output, and whether every request was answered with success.
    package static func run(
        _ request: LoadRequest, settings: Settings, progress: @escaping @Sendable (String) -> Void,
        complain: (String) -> Void
    ) async throws -> (text: String, isClean: Bool) {
        for (flag, file) in [("--html", request.htmlFile), ("--svg", request.svgFile)] {
            if let file { try OutputFile.checkReport(file, flag: flag) }
        }
        defer { progress("") }
        let maker = LoadMaker(request: request, settings: settings, progress: progress)
        let report = try await maker.measure()
        progress("")
        let text = request.isJSON ? try report.json() : report.text
        var files: [(name: String, content: String)] = []
        if let file = request.htmlFile { files.append((file, report.html)) }
        if let file = request.svgFile { files.append((file, LatencyChart(report).svg)) }
        // A search continues until a rate fails, so only the verdict counts.
        var isClean =
            report.verdict?.holds
            ?? report.steps.allSatisfy { $0.failed == 0 && $0.refused == 0 && $0.successes > 0 }
        for file in files {
            do throws(CommandError) {
                try OutputFile.write(Array(file.content.utf8), to: file.name)
            } catch {
                // Report the measurements even so.
                complain("ocelli: \(error)")
                isClean = false
            }
        }
        return (text, isClean)
    }

    private func measure() async throws -> BenchReport {
        let target = try LoadTarget(parsing: request.url)
        let pictures = request.isGet ? [] : try SentPictures(files: request.pictures, maximum: 1 << 30).pictures
        let fields = try request.fields.map { (field) throws(LoadError) in try RequestBytes.field(field) }
        let bodies: [[UInt8]?] = request.isGet ? [nil] : pictures.map(\.bytes)
        let requests = bodies.map {
            RequestBytes(target: target, body: $0, keepAlive: request.keepAlive, fields: fields)
        }
        let loadBefore = ProcessFigures.loadAverage
        progress("connecting to the server...")
        let address = try ServerAddress(of: target)
        let plan = ServicePlan(settings: settings, environment: [:])
        var report = BenchReport(
            url: target.description, isLocal: address.isLocal, keepAlive: request.keepAlive,
            pictures: pictures.map { ($0.name, $0.bytes.count) }, date: Date().formatted(.iso8601),
            processors: plan.resources.cpus.value, loadBefore: loadBefore)

        report.objective = request.objective
        if let objective = request.objective, case .closed = request.mode {
            var search = RateSearch(capacity: try await capacity(address, requests))
            while let rate = search.next {
                report.steps.append(try await run(load(.open(rate: rate)), address, requests))
                search.record(holds: report.steps.last.map { objective.objection(to: $0) == nil } ?? false)
            }
            report.steps.sort { ($0.offeredRate ?? 0) < ($1.offeredRate ?? 0) }
            return report
        }
        for (index, loop) in try await loops(address, requests).enumerated() {
            var load = self.load(loop)
            // Connections and caches are warm after the first load.
            if index > 0 { load.warmUp = min(load.warmUp, 0.5) }
            report.steps.append(try await run(load, address, requests))
        }
        return report
    }

    private func load(_ loop: LoadPlan.Loop) -> LoadPlan {
        let usual = if case .closed = loop { 8 } else { 256 }
        return LoadPlan(
            loop: loop, connections: request.connections ?? usual, seconds: request.seconds, warmUp: request.warmUp,
            timeout: request.timeout, keepAlive: request.keepAlive)
    }

    private func loops(_ address: ServerAddress, _ requests: [RequestBytes]) async throws -> [LoadPlan.Loop] {
        switch request.mode {
        case .closed: return [.closed]
        case .rates(let rates): return rates.map { .open(rate: $0) }
        case .automatic:
            return RateList.around(capacity: try await capacity(address, requests)).map { .open(rate: $0) }
        }
    }

    /// The number of answers per second in a closed loop.
    private func capacity(_ address: ServerAddress, _ requests: [RequestBytes]) async throws -> Double {
        var plan = load(.closed)
        plan.connections = min(plan.connections, 8)
        plan.seconds = min(plan.seconds, 5)
        let result = try await run(plan, address, requests)
        guard result.successRate > 0 else {
            throw LoadError("no rates can be chosen: \(result.firstTrouble ?? "nothing was answered")")
        }
        return result.successRate
    }

    /// Makes one load and shows the remaining time meanwhile.
    private func run(
        _ plan: LoadPlan, _ address: ServerAddress, _ requests: [RequestBytes]
    ) async throws -> StepResult {
        let name =
            switch plan.loop {
            case .closed: "\(plan.connections) connections"
            case .open(let rate): "\(Units.decimal(rate, places: 1)) requests a second"
            }
        let progress = progress
        let whole = plan.warmUp + plan.seconds
        let ticker = Task {
            let start = MonotonicInstant.now
            while !Task.isCancelled {
                let passed = Double(MonotonicInstant.now.nanoseconds(since: start)) / 1e9
                progress(
                    passed < whole
                        ? "\(name): \(Units.decimal((whole - passed).rounded(.up), places: 0)) s..."
                        : "\(name): the last answers...")
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
        defer { ticker.cancel() }
        return try await LoadThread.run(plan, to: address, requests: requests)
    }
}
