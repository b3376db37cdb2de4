import HTTPWire
import InferenceService
internal import ServiceCore
internal import ServicePlanning
import Settings
import Testing
internal import WireFormats

/// Access rights, by token and by the address of a request.
@Suite struct AccessControlTests {
    private static let reader = "reader-reader-reader"
    private static let owner = "owner-owner-owner-owner"
    private let control = AccessControl(
        TokenFile(text: "infer,read \(reader)\nread \(reader)2\nadmin \(reader)2\nall \(owner)\n", name: "tokens"))

    private func check(_ fields: String, _ wanted: AccessClass?, _ control: AccessControl? = nil) throws -> Int {
        let head = try Requests.head("GET / HTTP/1.1\nHost: x\n" + fields)
        do throws(ServiceError) {
            try (control ?? self.control).check(head, wanted)
            return 200
        } catch { return error.status.code }
    }

    @Test(
        "a bearer token opens the classes of its lines; other classes are 403, unknown tokens 401",
        arguments: [
            ("Authorization: Bearer \(reader)", AccessClass.infer, 200),
            ("Authorization: Bearer \(reader)", .read, 200),
            ("Authorization: Bearer \(reader)", .admin, 403),
            ("authorization: bEARER   \(reader)", .read, 200),
            ("Authorization: Bearer \(owner)", .admin, 200),
            // A token on two lines has the classes of both.
            ("Authorization: Bearer \(reader)2", .read, 200),
            ("Authorization: Bearer \(reader)2", .admin, 200),
            ("Authorization: Bearer \(reader)2", .infer, 403),
            ("X-Other: y", .read, 401),
            ("Authorization: Bearer \(reader)3", .read, 401),
            ("Authorization: Bearer \(reader.dropLast())", .read, 401),
            ("Authorization: Bearer \(reader.uppercased())", .read, 401),
            ("Authorization: Basic \(reader)", .read, 401),
            ("Authorization: \(reader)", .read, 401),
            ("Authorization: Bearer", .read, 401),
            ("Authorization: Bearer \(reader) \(owner)", .read, 401),
            // A client must not learn which of two tokens would count.
            ("Authorization: Bearer \(owner)\nAuthorization: Bearer wrong-wrong-wrong", .read, 401),
            ("Authorization: Bearer wrong-wrong-wrong\nAuthorization: Bearer \(owner)", .read, 401),
            ("Authorization: Bearer \(owner)\nAuthorization: Bearer \(owner)", .read, 401),
        ])
    func aTokenOpensItsClasses(_ fields: String, _ wanted: AccessClass, _ status: Int) throws {
        #expect(try check(fields, wanted) == status)
    }

    @Test("routes without a class, and servers without access control, need no token")
    func whatIsOpenNeedsNoToken() throws {
        #expect(try check("X-Other: y", nil) == 200)
        for wanted in AccessClass.allCases { #expect(try check("X-Other: y", wanted, .open) == 200) }
    }

    @Test(
        "each path requires its access class: none, infer, read or admin",
        arguments: [
            ("/", nil), ("/healthz", nil), ("/readyz", nil), ("/metrics", .read), ("/openapi.json", .read),
            ("/v1/models", .read), ("/v1/models/m", .read), ("/v1/classify", .infer), ("/v1/models/m/classify", .infer),
            ("/v1/models/m/predict", .infer), ("/v1/detect", .infer), ("/v1/models/m/embed", .infer), ("/v2", .read),
            ("/v2/health/live", .read), ("/v2/health/ready", .read), ("/v2/models/m", .read),
            ("/v2/models/m/infer", .infer), ("/v2/models/m/versions/1/infer", .infer), ("/v2/models/m/ready", .read),
            ("/v2/models/m/config", .read), ("/v2/models/m/stats", .read), ("/v2/models/stats", .read),
            // A model's name neither grants nor removes a right.
            ("/v2/models/repository", .read), ("/v1/models/repository/predict", .infer),
            ("/v2/repository/index", .admin),
            ("/v2/repository/models/m/load", .admin), ("/v2/repository/models/m/unload", .admin),
        ] as [(String, AccessClass?)])
    func everyRouteHasItsClass(_ path: String, _ expected: AccessClass?) throws {
        let resource = try #require(Service.routes.match(path)).resource
        for method in resource.methods { #expect(method.access == expected) }
    }

    @Test("a rollout is shown to tokens of the class read, and changed by those of admin only")
    func aRolloutIsChangedByAdministratorsOnly() throws {
        let resource = try #require(Service.routes.match("/v1/models/m/rollout")).resource
        for (method, wanted, status) in [
            (HTTPMethod.get, AccessClass.read, 200), (.head, .read, 200), (.put, .admin, 403), (.delete, .admin, 403),
        ] as [(HTTPMethod, AccessClass, Int)] {
            let access = try #require(resource.method(method)).access
            #expect(access == wanted, "\(method)")
            let found = try check("Authorization: Bearer \(Self.reader)", access)
            #expect(found == status, "\(method)")
        }
    }
}

/// Requests from this machine, and those that only seem to come from it.
@Suite struct RequestOriginTests {
    private func objection(
        _ fields: String, remote: String = "127.0.0.1:4242", names: [String] = [], listen: [String] = [],
        target: String = "/"
    ) throws -> String? {
        let head = try Requests.head("POST \(target) HTTP/1.1\n" + fields)
        return RequestOrigin(head: head, remote: remote).objection(names: names, listen: listen)
    }

    @Test(
        "requests from a loopback address with a local Host and origin raise no objection",
        arguments: [
            "Host: localhost", "Host: LOCALHOST:8080", "Host: 127.0.0.1:8080", "Host: 127.9.9.9", "Host: [::1]:8080",
            "Host: localhost\nOrigin: http://localhost", "Host: localhost:80\nOrigin: HTTPS://localhost:80",
            "Host: localhost\nSec-Fetch-Site: same-origin", "Host: localhost\nSec-Fetch-Site: none", "Host:",
        ])
    func thisMachinesRequests(_ fields: String) throws {
        #expect(try objection(fields) == nil)
        #expect(try objection(fields, remote: "[::1]:4242") == nil)
        #expect(try objection(fields, remote: "[::ffff:127.0.0.1]:4242") == nil)
    }

    @Test(
        "a proxy's field, another origin or a foreign Host is objected to and named",
        arguments: [
            ("Host: localhost\nForwarded: for=1.2.3.4", "(forwarded)"),
            ("Host: localhost\nX-Forwarded-For: x", "(x-for"),
            ("Host: localhost\nVia: 1.1 proxy", "(via)"), ("Host: localhost\nX-Real-IP: 1.2.3.4", "(x-real-ip)"),
            ("Host: localhost\nX-Forwarded-Host: x", "(x-forwarded-host)"),
            ("Host: localhost\nSec-Fetch-Site: cross-site", "Sec-Fetch-Site: cross-site"),
            ("Host: localhost\nSec-Fetch-Site: same-site", "Sec-Fetch-Site: same-site"),
            ("Host: localhost\nOrigin: http://evil.example", "Origin: http://evil.example"),
            ("Host: localhost\nOrigin: http://localhost:81", "Origin: http://localhost:81"),
            ("Host: localhost\nOrigin: null", "Origin: null"), ("Host:\nOrigin: http://", "Origin: http://"),
            ("Host: evil.example", "\"evil.example\" in Host"),
            ("Host: 127.evil.example", "\"127.evil.example\" in Host"),
            ("Host: localhost.evil.example", "in Host"), ("Host: 128.0.0.1", "in Host"),
        ])
    func othersAreReported(_ fields: String, _ words: String) throws {
        let objection = try objection(fields)
        #expect(objection?.contains(words) == true, "\(objection ?? "none")")
    }

    @Test(
        "a request from a remote address is reported as not from this machine",
        arguments: ["10.0.0.1:4242", "[2001:db8::1]:4242", "[::ffff:10.0.0.1]:4242", "127x:1"])
    func othersAddresses(_ remote: String) throws {
        #expect(try objection("Host: localhost", remote: remote)?.contains("is not on this machine") == true)
    }

    @Test("Host may be a configured name or a listen address; an absolute target overrides Host")
    func namesThatAreGivenOrListenedOn() throws {
        #expect(try objection("Host: vision.example:80", names: ["Vision.Example"]) == nil)
        #expect(try objection("Host: vision.example:80", listen: ["vision.example:8080"]) == nil)
        #expect(try objection("Host: [2001:db8::1]:80", listen: ["[2001:DB8::1]:8080"]) == nil)
        // The absolute form overrides Host.
        #expect(try objection("Host: localhost", target: "http://evil.example/x")?.contains("evil.example") == true)
    }

    /// No name leads to a Unix-domain socket, but a page's origin and a proxy's fields count there too.
    @Test("on a Unix socket any Host is accepted, but proxy fields and foreign origins are not")
    func unixSockets() throws {
        #expect(try objection("Host: whatever", remote: "unix") == nil)
        #expect(try objection("Host: whatever\nVia: 1.1 x", remote: "unix") != nil)
        #expect(try objection("Host: whatever\nOrigin: http://other", remote: "unix") != nil)
    }

    @Test("models may be loaded from this machine, from everywhere or not at all, depending on the setting")
    func whoMayLoadModels() throws {
        var settings = Settings()
        func status(_ remote: String, _ host: String) throws -> Int {
            let head = try Requests.head("POST / HTTP/1.1\nHost: \(host)")
            do throws(ServiceError) {
                try RepositoryControl.check(RequestOrigin(head: head, remote: remote), settings: settings)
                return 200
            } catch { return error.status.code }
        }
        settings.repositoryControl = .local
        #expect(try status("127.0.0.1:1", "localhost") == 200)
        #expect(try status("10.0.0.1:1", "localhost") == 403)
        #expect(try status("127.0.0.1:1", "vision.example") == 403)
        settings.hostNames = ["vision.example"]
        #expect(try status("127.0.0.1:1", "vision.example") == 200)
        settings.repositoryControl = .all
        #expect(try status("10.0.0.1:1", "vision.example") == 200)
        settings.repositoryControl = .none
        #expect(try status("127.0.0.1:1", "localhost") == 403)
    }
}
