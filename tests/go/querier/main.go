// Pyroscope's own client, as Grafana's data source has it: `querier ADDRESS TOKEN` reads a JSON list of
// {"method", "request", "json"} from its standard input, and prints a list of {"answer"} or {"code", "message"}.
// With "json" a message is sent as JSON, else as protocol buffers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type question struct {
	Method  string          `json:"method"`
	Request json.RawMessage `json:"request"`
	JSON    bool            `json:"json"`
}

type result struct {
	Answer  json.RawMessage `json:"answer,omitempty"`
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
}

type withToken struct{ token string }

func (sender withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+sender.token)
	return http.DefaultTransport.RoundTrip(request)
}

// call sends a request by one of the client's methods.
func call[Q, A any, PQ interface {
	*Q
	proto.Message
}, PA interface {
	*A
	proto.Message
}](send func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), text []byte) result {
	request := new(Q)
	if err := protojson.Unmarshal(text, PQ(request)); err != nil {
		return result{Code: "bad test", Message: err.Error()}
	}
	response, err := send(context.Background(), connect.NewRequest(request))
	if err != nil {
		var told *connect.Error
		if errors.As(err, &told) {
			return result{Code: told.Code().String(), Message: told.Message()}
		}
		return result{Code: "none", Message: err.Error()}
	}
	answer, err := protojson.Marshal(PA(response.Msg))
	if err != nil {
		return result{Code: "none", Message: err.Error()}
	}
	return result{Answer: answer}
}

func ask(client querierv1connect.QuerierServiceClient, asked question) result {
	switch asked.Method {
	case "ProfileTypes":
		return call[querierv1.ProfileTypesRequest, querierv1.ProfileTypesResponse](client.ProfileTypes, asked.Request)
	case "LabelNames":
		return call[typesv1.LabelNamesRequest, typesv1.LabelNamesResponse](client.LabelNames, asked.Request)
	case "LabelValues":
		return call[typesv1.LabelValuesRequest, typesv1.LabelValuesResponse](client.LabelValues, asked.Request)
	case "Series":
		return call[querierv1.SeriesRequest, querierv1.SeriesResponse](client.Series, asked.Request)
	case "SelectSeries":
		return call[querierv1.SelectSeriesRequest, querierv1.SelectSeriesResponse](client.SelectSeries, asked.Request)
	case "SelectMergeStacktraces":
		return call[querierv1.SelectMergeStacktracesRequest, querierv1.SelectMergeStacktracesResponse](
			client.SelectMergeStacktraces, asked.Request)
	case "SelectMergeProfile":
		return call[querierv1.SelectMergeProfileRequest, googlev1.Profile](client.SelectMergeProfile, asked.Request)
	case "SelectMergeSpanProfile":
		return call[querierv1.SelectMergeSpanProfileRequest, querierv1.SelectMergeSpanProfileResponse](
			client.SelectMergeSpanProfile, asked.Request)
	case "GetProfileStats":
		return call[typesv1.GetProfileStatsRequest, typesv1.GetProfileStatsResponse](
			client.GetProfileStats, asked.Request)
	}
	return result{Code: "bad test", Message: asked.Method}
}

func main() {
	var asked []question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	sender := &http.Client{Transport: withToken{os.Args[2]}}
	binary := querierv1connect.NewQuerierServiceClient(sender, os.Args[1], connect.WithSendGzip())
	asJSON := querierv1connect.NewQuerierServiceClient(sender, os.Args[1], connect.WithProtoJSON())
	results := []result{}
	for _, one := range asked {
		client := binary
		if one.JSON {
			client = asJSON
		}
		results = append(results, ask(client, one))
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}
