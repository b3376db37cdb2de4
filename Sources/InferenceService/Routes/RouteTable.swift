package import HTTPWire
package import Settings

/// The resources that requests are for: the one list of them. Paths, suggestions, access, labels, methods and the
/// OpenAPI document are read from it.
package struct RouteTable<Handler: Sendable>: Sendable {
    /// One resource.
    package struct Resource: Sendable {
        package let templates: [PathTemplate]
        /// Its name in metrics and logs: the first of its templates, without anything of a request.
        package let label: String
        /// Other spellings of its paths, which no document has.
        let aliases: [PathTemplate]
        /// Balancers and kubelets probe it: every listener has it.
        package let isProbe: Bool
        /// It may be suggested to clients that ask for a similar path.
        let isSuggested: Bool
        /// The dialect that it belongs to, which may be turned off; nil for Ocelli's own.
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
            // What may be turned off is not offered, and its words are those of other servers.
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

        /// The classes that a listener must have to serve a method. The page, which needs no token, asks for
        /// predictions and for descriptions.
        package func listenerClasses(of method: Method) -> Set<AccessClass> {
            isProbe ? [] : method.access.map { [$0] } ?? [.infer, .read]
        }
    }

    /// A method of a resource.
    package struct Method: Sendable {
        package let method: HTTPMethod
        /// The class that a token must have; nil is open to all, because a balancer or a browser asks.
        package let access: AccessClass?
        /// Its name under `operations` in `openapi.json`.
        package let operation: String
        /// True if it loads or unloads models, or decides which version serves: `repository_control` must permit it.
        package let changesModels: Bool
        package let handler: Handler

        package init(
            method: HTTPMethod, access: AccessClass?, operation: String, changesModels: Bool = false, handler: Handler
        ) {
            self.method = method
            self.access = access
            self.operation = operation
            self.changesModels = changesModels
            self.handler = handler
        }
    }

    /// The resource and the names that a path stands for.
    package struct Match: Sendable {
        package let resource: Resource
        /// The model's name; empty if the path has none.
        package let name: String
        package let version: String?
        /// The label that stands for a version; nil if the path has none.
        package let versionLabel: String?
        /// The identifier of something that the model has; nil if the path has none.
        package let id: String?
        /// True if the path ends with a verb, which may be the end of a name instead: `/v1/models/m:predict`.
        package let hasVerb: Bool

        init(_ resource: Resource, _ names: PathTemplate.Names = .init(), hasVerb: Bool = false) {
            self.resource = resource
            name = names.name
            version = names.version
            versionLabel = names.label
            id = names.id
            self.hasVerb = hasVerb
        }
    }

    package let resources: [Resource]
    /// Resources by their paths, where these have no names: found without taking the path apart.
    private let fixed: [String: Int]
    /// The other templates with their resources, by the number of their parts.
    private let open: [[(template: PathTemplate, resource: Int)]]

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
                // What a verb ends is part of a name otherwise: `/v1/models/m:predict`.
                let place = template.verb == nil ? open[template.parts.count].count : 0
                open[template.parts.count].insert((template, index), at: place)
            }
        }
        self.fixed = fixed
        self.open = open
    }

    /// Returns the resource and the names that a path stands for; nil if there is no such resource. The path is already
    /// percent-decoded; names in it are looked up in tables and never reach the file system.
    /// - Parameter verbs: false takes a verb at the end for a part of the name.
    package func match(_ path: String, verbs: Bool = true) -> Match? {
        if let index = fixed[path] { return Match(resources[index]) }
        // No resource is deeper, and what a client can make long is not taken apart before that is known.
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
