// Command api-server serves custom resources with Kubernetes' own API machinery: the storage, the
// watch cache, optimistic locking, bookmarks and the errors of kube-apiserver. It is the library
// k8s.io/apiextensions-apiserver, which kube-apiserver embeds for custom resources.
//
// Two parts that belong to a whole cluster are replaced. A user is whoever a file of tokens or a
// client certificate says, and a user may do what a file of rules says.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// access names the files that say who a user is and what each user may do.
type access struct {
	tokens, clientCA, rules string
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	chosen := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	files, err := parse(chosen)
	if err != nil {
		return err
	}
	config, err := configure(chosen)
	if err != nil {
		return err
	}
	if err := admit(&config.Config, files); err != nil {
		return err
	}
	resources := &apiserver.Config{
		GenericConfig: config,
		ExtraConfig: apiserver.ExtraConfig{
			CRDRESTOptionsGetter: options.NewCRDRESTOptionsGetter(
				*chosen.RecommendedOptions.Etcd, config.ResourceTransformers, config.StorageObjectCountTracker),
			MasterCount: 1,
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(
				nil, nil, config.LoopbackClientConfig, noop.NewTracerProvider()),
		},
	}
	ready, err := resources.Complete().New(server.NewEmptyDelegate())
	if err != nil {
		return err
	}
	return ready.GenericAPIServer.PrepareRun().RunWithContext(server.SetupSignalContext())
}

// parse reads the flags, with everything turned off that needs the rest of a cluster.
func parse(chosen *options.CustomResourceDefinitionsServerOptions) (access, error) {
	recommended := chosen.RecommendedOptions
	recommended.CoreAPI = nil
	recommended.Authentication = nil
	recommended.Authorization = nil
	recommended.Admission = nil
	recommended.Features.EnablePriorityAndFairness = false

	var files access
	flags := pflag.NewFlagSet("api-server", pflag.ContinueOnError)
	flags.AddGoFlagSet(flag.CommandLine)
	flags.StringVar(&files.tokens, "tokens", "", "a CSV file: token,user,uid,\"groups\"")
	flags.StringVar(&files.clientCA, "client-ca", "", "the authority of client certificates, whose CN is the user")
	flags.StringVar(&files.rules, "rules", "", "a file with lines of: user verb group resource namespace")
	chosen.AddFlags(flags)
	if err := flags.Parse(os.Args[1:]); err != nil {
		return files, err
	}
	if err := chosen.ServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return files, err
	}
	if err := chosen.Complete(); err != nil {
		return files, err
	}
	return files, chosen.Validate()
}

func configure(chosen *options.CustomResourceDefinitionsServerOptions) (*server.RecommendedConfig, error) {
	loopback := []net.IP{net.IPv4(127, 0, 0, 1)}
	if err := chosen.RecommendedOptions.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, loopback); err != nil {
		return nil, err
	}
	config := server.NewRecommendedConfig(apiserver.Codecs)
	if err := chosen.ServerRunOptions.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	if err := chosen.RecommendedOptions.ApplyTo(config); err != nil {
		return nil, err
	}
	if err := chosen.APIEnablement.ApplyTo(&config.Config, apiserver.DefaultAPIResourceConfigSource(), apiserver.Scheme); err != nil {
		return nil, err
	}

	// The library expects a client of the main server. This server's own takes its place.
	self, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	config.ClientConfig = config.LoopbackClientConfig
	config.SharedInformerFactory = informers.NewSharedInformerFactory(self, time.Hour)

	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapinamer.NewDefinitionNamer(apiserver.Scheme, scheme.Scheme)
	config.OpenAPIConfig = server.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIConfig.Info.Title = "api-server"
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(definitions, namer)
	return config, nil
}

// admit sets who a user is and what a user may do. Without a token or certificate a user is
// anonymous, as in a cluster.
func admit(config *server.Config, files access) error {
	var ways []authenticator.Request
	if files.clientCA != "" {
		authority, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", files.clientCA)
		if err != nil {
			return err
		}
		if err := config.Authentication.ApplyClientCert(authority, config.SecureServing); err != nil {
			return err
		}
		ways = append(ways, x509.NewDynamic(authority.VerifyOptions, x509.CommonNameUserConversion))
	}
	if files.tokens != "" {
		tokens, err := tokenfile.NewCSV(files.tokens)
		if err != nil {
			return err
		}
		ways = append(ways, bearertoken.New(tokens))
	}
	known := group.NewAuthenticatedGroupAdder(union.New(ways...))
	config.Authentication.Authenticator = union.NewFailOnError(known, anonymous.NewAuthenticator(nil))
	config.Authorization.Authorizer = byRules(files.rules)
	return nil
}

// byRules reads its file at every request, so that a test can grant and revoke while it runs.
type byRules string

func (file byRules) Authorize(_ context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if !request.IsResourceRequest() { // health, version, discovery
		return authorizer.DecisionAllow, "", nil
	}
	for _, name := range request.GetUser().GetGroups() {
		if name == "system:masters" {
			return authorizer.DecisionAllow, "", nil
		}
	}
	if file == "" {
		return authorizer.DecisionNoOpinion, "", nil
	}
	content, err := os.ReadFile(string(file))
	if err != nil {
		return authorizer.DecisionDeny, "", err
	}
	asked := []string{
		request.GetUser().GetName(), request.GetVerb(), request.GetAPIGroup(), request.GetResource(), request.GetNamespace(),
	}
	for _, line := range strings.Split(string(content), "\n") {
		if covers(strings.Fields(line), asked) {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// covers reports whether every word of a rule is the word that was asked for, or a star.
func covers(rule, asked []string) bool {
	if len(rule) != len(asked) {
		return false
	}
	for i, word := range rule {
		if word != "*" && word != asked[i] {
			return false
		}
	}
	return true
}
