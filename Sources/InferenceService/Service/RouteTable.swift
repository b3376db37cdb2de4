package import HTTPWire
package import ServiceCore
package import ServicePlanning
package import Settings

/// The table of all resources, from which paths, suggestions, access, labels, methods and the OpenAPI document are
/// taken.
package struct RouteTable: Sendable {
    /// One resource.
    package struct Resource: Sendable {
        package let templates: [PathTemplate]
        /// The resource's name in metrics and logs: its first template, without values from a request.
        package let label: String
        /// Other spellings of the paths, which are in no document.
        let aliases: [PathTemplate]
        /// True if load balancers and kubelets probe it: every listener serves it.
        package let isProbe: Bool
        /// True if it may be suggested to clients that request a similar path.
        let isSuggested: Bool
        /// The dialect of the resource, which may be turned off; nil for Ocelli's own interface.
        package let dialect: Dialect?
        /// The methods of the resource; GET answers HEAD too.
        package let methods: [Method]

        // Wide: a row of the table of routes.
        package init(
            _ templates: [PathTemplate], aliases: [PathTemplate] = [], isProbe: Bool = false, isSuggested: Bool = true,
            dialect: Dialect? = nil, label: String? = nil, _ methods: Method...
        ) {
            self.templates = templates
            self.label = label ?? templates.first?.text ?? "none"
            self.aliases = aliases
            self.isProbe = isProbe
            // Dialects are not suggested: they may be turned off, and their words belong to other servers.
            self.isSuggested = isSuggested && dialect == nil
            self.dialect = dialect
            self.methods = methods
        }

        /// The methods for the field Allow.
        package var allowed: [HTTPMethod] { methods.flatMap { $0.method == .get ? [.get, .head] : [$0.method] } }

        /// The resource's entry for a method; nil if the resource does not have it.
        package func method(_ method: HTTPMethod) -> Method? {
            let asked = method == .head ? .get : method
            return methods.first { $0.method == asked }
        }

        /// The classes that a listener must serve for a method. The page, which needs no token, sends requests for
        /// predictions and descriptions.
        package func listenerClasses(of method: Method) -> Set<AccessClass> {
            isProbe ? [] : method.access.map { [$0] } ?? [.infer, .read]
        }
    }

    /// A method of a resource.
    package struct Method: Sendable {
        package let method: HTTPMethod
        /// The class that a token must grant; nil for a method that is open to all, as used by load balancers and
        /// browsers.
        package let access: AccessClass?
        /// The method's name under `operations` in `openapi.json`.
        package let operation: String
        /// True if the method loads or unloads models, changes the serving version, or discards the reference of drift:
        /// `repository_control` must permit it.
        package let changesModels: Bool
        /// Decides on a request.
        let decide: Service.Decision

        init(
            _ method: HTTPMethod, _ access: AccessClass?, _ operation: String, changesModels: Bool,
            _ decide: @escaping Service.Decision
        ) {
            self.method = method
            self.access = access
            self.operation = operation
            self.changesModels = changesModels
            self.decide = decide
        }
    }

    /// The resource of a path, and the values of its placeholders.
    package struct Match: Sendable {
        package let resource: Resource
        package let path: PathTemplate.Names
        /// True if the path ends with a verb, which may also be the end of a name: `/v1/models/m:predict`.
        package let hasVerb: Bool

        package init(_ resource: Resource, _ path: PathTemplate.Names = .init(), hasVerb: Bool = false) {
            self.resource = resource
            self.path = path
            self.hasVerb = hasVerb
        }
    }

    package let resources: [Resource]
    /// The paths that may be suggested to clients.
    var suggested: [PathTemplate] { resources.filter(\.isSuggested).flatMap(\.templates) }
    /// The paths of the OpenAPI document, with their operations. The routes of other servers' dialects have their own
    /// documents, and may be turned off.
    package var documented: [OpenAPIDocument.Path] {
        resources.filter { $0.dialect == nil }.flatMap { resource in
            resource.templates.enumerated().map { index, template in
                .init(template, index, operations: resource.methods.map { ($0.method, $0.operation) })
            }
        }
    }
    /// The indices of resources by their paths without placeholders: found without splitting the path.
    private let fixed: [String: Int]
    /// The other templates with the indices of their resources, by the number of their parts.
    private let open: [[(template: PathTemplate, resource: Int)]]

    /// The methods of all resources, each once.
    package var allowed: [HTTPMethod] {
        Set(resources.flatMap(\.allowed)).sorted { $0.rawValue < $1.rawValue }
    }

    package init(_ resources: [Resource]) {
        self.resources = resources
        var fixed: [String: Int] = [:]
        var open: [[(template: PathTemplate, resource: Int)]] = []
        for (index, resource) in resources.enumerated() {
            for template in resource.templates + resource.aliases {
                guard !template.isFixed else {
                    fixed[template.text] = index
                    continue
                }
                while open.count <= template.parts.count { open.append([]) }
                // Templates with a verb first: without the verb, it would be taken as part of a name, as in
                // `/v1/models/m:predict`.
                let place = template.verb == nil ? open[template.parts.count].count : 0
                open[template.parts.count].insert((template, index), at: place)
            }
        }
        self.fixed = fixed
        self.open = open
    }

    /// Returns the resource of a path and the values of its placeholders; nil if there is no such resource. The path is
    /// already percent-decoded; names in it are looked up in tables and never reach the file system.
    /// - Parameter verbs: whether a verb at the end is a verb; otherwise it is part of the name.
    package func match(_ path: String, verbs: Bool = true) -> Match? {
        if let index = fixed[path] { return Match(resources[index]) }
        // No resource has more slashes, so check their number before splitting a path that may be long.
        let slash = UInt8(ascii: "/")
        guard path.utf8.first == slash, path.utf8.count(where: { $0 == slash }) < open.count else { return nil }
        let parts = Array(path.split(separator: "/", omittingEmptySubsequences: false).dropFirst())
        guard parts.count < open.count else { return nil }
        for (template, index) in open[parts.count] where verbs || template.verb == nil {
            if let names = template.names(in: parts) {
                return Match(resources[index], names, hasVerb: template.verb != nil)
            }
        }
        return nil
    }
}
