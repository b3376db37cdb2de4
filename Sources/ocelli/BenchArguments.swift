internal import FoundationEssentials
internal import InferenceService
internal import LoadGenerator
internal import Settings
internal import Tools

/// The command line of `ocelli bench`, read.
struct BenchArguments {
    /// The request to the ceilings, if there is no URL.
    private(set) var ceilings = CeilingRequest()
    /// The request of a load test, where there is one.
    private(set) var load: LoadRequest?
    private var settingsFlags = SettingsFlags()

    private static let ceilingFlags = ["--model", "--concurrency"]
    private static let loadFlags = [
        "--rate", "--sweep", "--slo", "--connections", "--warm-up", "--timeout", "--no-keepalive", "--get", "--header",
        "--html",
        "--svg",
    ]

    /// Every flag that it knows.
    static let flags = ["--seconds", "--json"] + ceilingFlags + loadFlags + SettingsFlags.names

    /// The settings that the other arguments say.
    func settings() throws -> Settings { try settingsFlags.resolve() }

    init(_ arguments: [String]) throws {
        var reader = ArgumentReader(arguments, command: BenchCommand.name, known: Self.flags)
        var load = LoadRequest()
        var words: [String] = []
        var used: [String] = []
        let isLoad = arguments.contains { !$0.hasPrefix("-") && LoadTarget.looksLikeURL($0) && !Self.isFile($0) }
        while let argument = reader.next() {
            switch argument {
            case .word(let word): words.append(word)
            case .flag("--json", let value):
                // A load's report goes to a file; that of the ceilings is the output.
                if isLoad {
                    load.jsonFile = try reader.value(of: "--json", value)
                } else {
                    guard value == nil else { throw UsageError("--json takes a file only for a load test, with a URL") }
                    ceilings.isJSON = true
                }
            case .flag("--seconds", let value):
                let bounds = isLoad ? LoadPlan.secondsBounds : CeilingRequest.secondsBounds
                let seconds = try Self.duration("--seconds", try reader.value(of: "--seconds", value), bounds)
                (ceilings.seconds, load.seconds) = (seconds, seconds)
            case .flag(let flag, let value) where Self.ceilingFlags.contains(flag):
                used.append(flag)
                try take(flag, try reader.value(of: flag, value))
            case .flag(let flag, let value) where ["--no-keepalive", "--get"].contains(flag):
                guard value == nil else { throw UsageError("\(flag) takes no value") }
                used.append(flag)
                if flag == "--get" { load.isGet = true } else { load.keepAlive = false }
            case .flag(let flag, let value) where Self.loadFlags.contains(flag):
                used.append(flag)
                try Self.take(flag, try reader.value(of: flag, value), into: &load)
            case .flag(let flag, let value):
                guard try settingsFlags.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        let wrong = used.first { (isLoad ? Self.ceilingFlags : Self.loadFlags).contains($0) }
        if let wrong {
            throw UsageError(
                isLoad
                    ? "\(wrong) is for the ceilings, which are measured without a URL"
                    : "\(wrong) is for a load test, which needs a URL: ocelli bench http://localhost:8080 \(wrong) ...")
        }
        if isLoad { self.load = try Self.finish(load, words) } else { try finishCeilings(words) }
    }

    private static func finish(_ load: LoadRequest, _ words: [String]) throws -> LoadRequest {
        var load = load
        for word in words {
            if LoadTarget.looksLikeURL(word), !isFile(word) {
                guard load.url.isEmpty else { throw UsageError("\"\(word)\": one URL at a time") }
                load.url = word
            } else {
                load.pictures.append(word)
            }
        }
        guard load.pictures.count <= CeilingRequest.mostPictures else {
            throw UsageError("expected at most \(CeilingRequest.mostPictures) pictures, found \(load.pictures.count)")
        }
        if load.isGet, !load.pictures.isEmpty { throw UsageError("--get sends no picture: remove the pictures") }
        do { _ = try LoadTarget(parsing: load.url) } catch { throw UsageError(error.description) }
        return load
    }

    private mutating func finishCeilings(_ words: [String]) throws {
        for word in words {
            if CeilingRequest.isModel(word) {
                guard ceilings.model == nil else { throw UsageError("\"\(word)\": one model at a time") }
                ceilings.model = word
            } else {
                ceilings.pictures.append(word)
            }
        }
        guard ceilings.pictures.count <= CeilingRequest.mostPictures else {
            throw UsageError(
                "expected at most \(CeilingRequest.mostPictures) pictures, found \(ceilings.pictures.count)")
        }
    }

    private mutating func take(_ flag: String, _ text: String) throws {
        if flag == "--model" {
            ceilings.model = text
        } else {
            ceilings.concurrency = try Self.number(flag, text, CeilingRequest.concurrencyBounds)
        }
    }

    private static func take(_ flag: String, _ text: String, into load: inout LoadRequest) throws {
        do throws(LoadError) {
            switch flag {
            case "--rate", "--sweep":
                guard case .closed = load.mode else { throw LoadError("--rate and --sweep exclude each other") }
                if flag == "--rate" {
                    guard let rate = Double(text) else {
                        throw LoadError("expected a number of requests a second, found \"\(text)\"")
                    }
                    load.mode = .rates([try RateList.checked(rate)])
                } else {
                    load.mode = text == "auto" ? .automatic : .rates(try RateList.parse(text))
                }
            case "--slo": load.objective = try ServiceObjective(parsing: text, duration: Units.parseDuration)
            case "--header": load.fields.append(try RequestBytes.field(text))
            default: break
            }
        } catch {
            throw UsageError("\(flag): \(error.description)")
        }
        switch flag {
        case "--connections": load.connections = try number(flag, text, LoadPlan.connectionBounds)
        case "--warm-up": load.warmUp = try duration(flag, text, LoadPlan.warmUpBounds)
        case "--timeout": load.timeout = try duration(flag, text, LoadPlan.timeoutBounds)
        case "--html": load.htmlFile = text
        case "--svg": load.svgFile = text
        default: break
        }
    }

    private static func number(_ flag: String, _ text: String, _ range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "\(flag): expected a whole number from \(range.lowerBound) to \(range.upperBound), found \"\(text)\"")
        }
        return number
    }

    private static func duration(_ flag: String, _ text: String, _ range: ClosedRange<Double>) throws -> Double {
        guard let seconds = Units.parseDuration(text), range.contains(seconds) else {
            throw UsageError(
                "\(flag): expected a time from \(Units.duration(range.lowerBound)) to "
                    + "\(Units.duration(range.upperBound)), found \"\(text)\"")
        }
        return seconds
    }

    private static func isFile(_ word: String) -> Bool { FileManager.default.fileExists(atPath: word) }
}
